"""``odf report``: what verifications found, kept."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from catalog.reports import history
from cli.options import AsJson, RepositoryOption
from cli.output import print_json
from cli.reports import found_report, plain_report, plain_span, print_report, print_reports, reports_of
from verify.report_making import report_of
from verify.report_record import parse_report

IS_GROUP = True
app = typer.Typer(
    help="""Show what verifications of a repository's datasets found. A report is one run: it never changes.

\b
Example:
    odf report show us.noaa.seattle-weather --repo my-repository
""",
    no_args_is_help=True,
)
Report = Annotated[str, typer.Argument(metavar="REF|HASH", help="A report, or a dataset for its last one.")]


@app.command("list")
def list_(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset.")],
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Show the reports of a dataset, the newest first, and when each verdict was first and last seen.

    \b
    Example:
        odf report list us.noaa.seattle-weather --repo my-repository
    """
    found = asyncio.run(reports_of(ref, repository))
    spans = history(found)
    if as_json:
        print_json({"reports": list(map(plain_report, found)), "history": list(map(plain_span, spans))})
    else:
        print_reports(found, spans)


@app.command()
def show(
    report: Report,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Also write it as JUnit XML.")] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Show one report: what was found, block by block, of which inputs, and with what it was computed.

    With --json it is what is kept, byte for byte: its physical hash is the name of the report.

    \b
    Example:
        odf report show us.noaa.seattle-weather --repo my-repository
        odf report show us.noaa.seattle-weather --repo my-repository --json
    """
    report_hash, raw = asyncio.run(found_report(report, repository))
    record = parse_report(raw)
    if junit is not None:
        junit.write_text(report_of(record).as_junit())
    if as_json:
        typer.echo(raw, nl=False)
    else:
        print_report(report_hash, record)
