"""``odf verify``: is a dataset what its chain and its names say?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from cli.datasets import Located, connected, datasets_in, locate_all, repository_at
from cli.exit_codes import ExitCode
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_note, print_text
from cli.progress import progress_bars
from verify.integrity import verify_integrity
from verify.report import Report, Verdict

EXIT_CODES = {Verdict.VALID: ExitCode.OK, Verdict.INVALID: ExitCode.INVALID, Verdict.ERROR: ExitCode.FAILED}


def command(
    refs: Annotated[
        list[str] | None,
        typer.Argument(metavar="REF|DIR|URL", help="Datasets, or folders of them; all of --repo when none is given."),
    ] = None,
    integrity_only: Annotated[
        bool, typer.Option("--integrity-only", help="Check bytes, chain and objects; do not repeat transformations.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Also write the reports as JUnit XML.")
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Check datasets: every block, the rules of the chain, every object and its records.

    Ends with 0 when all are valid and with 3 when one is damaged; each finding names the block or the file.

    \b
    Example:
        odf verify --integrity-only examples/us.faa.airports
        odf verify --integrity-only ./dataset-folder --json
        odf verify --integrity-only var/repository
    """
    if not integrity_only:
        print_note("note: this version checks integrity only; transformations are not repeated")
    reports = asyncio.run(_verify_all(refs or [], repository))
    for name, report in reports:
        if as_json:
            print_json({"name": name, **report.as_dict()}, indent=None)
        else:
            print_text(f"{name}\n{report.as_text()}")
    if junit is not None:
        _write_junit(junit, [report for _, report in reports])
    worst = max((EXIT_CODES[report.verdict] for _, report in reports), default=ExitCode.OK)
    if worst is not ExitCode.OK:
        raise typer.Exit(worst)


async def _verify_all(refs: list[str], repository: str) -> list[tuple[str, Report]]:
    if refs:
        places = [place for ref in refs for place in await locate_all(ref, repository)]
    else:
        places = await datasets_in(await repository_at(repository))
    return [(place.name, await _verify_one(place)) for place in sorted(places, key=lambda each: each.name)]


async def _verify_one(place: Located) -> Report:
    with progress_bars() as advance:
        async with connected(place) as dataset:
            return await verify_integrity(dataset, progress=advance)


def _write_junit(file: Path, reports: list[Report]) -> None:
    suites = [report.as_junit().split("?>", 1)[-1].strip() for report in reports]
    file.write_text("<?xml version='1.0' encoding='utf-8'?>\n<testsuites>\n" + "\n".join(suites) + "\n</testsuites>\n")
