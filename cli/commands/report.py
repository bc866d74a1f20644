"""``odf report``: what verifications found, kept."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from cli.exit_codes import ExitCode
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_text
from cli.reports import found_report, print_report, print_reports, reports_of
from repo_server.pages.report_pages import report_page
from verify.report_difference import differences
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
        odf report list http://127.0.0.1:8080/examples/us.faa.airports/
    """
    found = asyncio.run(reports_of(ref, repository))
    if as_json:
        print_json(found)
    else:
        print_reports(found)


@app.command()
def diff(
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="A report, or a dataset for its last one.")],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The one to compare it with.")],
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Show what one report says and another one does not: verdicts, findings, steps, inputs, environment.

    Ends with 0 when they say the same but for times, and with 1 when not.

    \b
    Example:
        odf report diff HASH us.noaa.seattle-weather --repo my-repository
    """
    first, second = [parse_report(asyncio.run(found_report(each, repository))[1]) for each in (before, after)]
    changes = differences(first, second)
    if as_json:
        print_json([change.as_dict() for change in changes])
    else:
        print_text("\n".join(map(str, changes)) or "the reports say the same")
    if changes:
        raise typer.Exit(ExitCode.FAILED)


@app.command()
def show(
    report: Report,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Also write it as JUnit XML.")] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write it as a page.")] = None,
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
    if html is not None:
        html.write_text(report_page(report_hash, record))
    if as_json:
        typer.echo(raw, nl=False)
    else:
        print_report(report_hash, record)
