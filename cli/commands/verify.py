"""``odf verify``: is a dataset what its chain and its names say?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from cli.exit_codes import ExitCode
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_note
from cli.progress import progress_bars
from cli.server_verifications import required_on_server, told_lines, verdict_in, verified_by_server
from cli.verifications import VerifyOptions, verify_all
from opendatafabric.limits import REPLAY_STEP_S_MAX
from opendatafabric.multihash import Multihash
from verify.recording import Recorded
from verify.report import Report, Verdict

EXIT_CODES = {Verdict.VALID: ExitCode.OK, Verdict.INVALID: ExitCode.INVALID, Verdict.ERROR: ExitCode.FAILED}

_AS_IT_IS = VerifyOptions(integrity_only=False, recursive=False, timeout_s=REPLAY_STEP_S_MAX)
"""Nothing was said of how to verify."""


def command(
    refs: Annotated[
        list[str] | None,
        typer.Argument(metavar="REF|DIR|URL", help="Datasets, or folders of them; all of --repo when none is given."),
    ] = None,
    integrity_only: Annotated[
        bool, typer.Option("--integrity-only", help="Check bytes, chain and objects; do not repeat transformations.")
    ] = False,
    recursive: Annotated[
        bool, typer.Option("--recursive", help="Their inputs first, and the inputs of those.")
    ] = False,
    timeout_s: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0.001, help="For one step of a derivative.")
    ] = REPLAY_STEP_S_MAX,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Also write the reports as JUnit XML.")
    ] = None,
    keep: Annotated[
        bool | None,
        typer.Option("--keep/--no-keep", help="Keep the reports in the repository; by default if 'odf init' made it."),
    ] = None,
    attest: Annotated[
        bool, typer.Option("--attest", help="Sign what is found with the key of the repository, and keep the reports.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="BLOCK", help="Only what the blocks after this one added; of one dataset."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Prove again what a run that was broken off had proved.")
    ] = False,
    at_server: Annotated[
        bool, typer.Option("--at-server", help="Have the server verify its datasets, and follow it.")
    ] = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Check datasets: every block, the rules of the chain, every object and its records; repeat every transform.

    Each step of a derivative is computed again from the records of its inputs that it names, and must give the same
    records. Inputs are taken from --repo, or from the repository that holds the given folder. With --recursive they are
    verified first: what was made of an invalid dataset is invalid too.

    Of large datasets it is noted what was proved: a run that was broken off goes on there, unless --fresh.
    With --since the whole chain is read and judged, but only objects and steps of the blocks after that one.

    A report of each dataset of the repository in --repo is kept there: odf report shows them.

    A dataset at an address is read from there and checked here. With --at-server its server does it, as it is set up
    to, for those who may write the dataset; when the command is stopped, the server goes on.

    Ends with 0 when all are valid, with 3 when one is not and with 1 when something could not be checked; each finding
    names the block or the file.

    \b
    Example:
        odf verify --recursive seattle-weather.fahrenheit
        odf verify --integrity-only ./dataset-folder --json
        odf verify --integrity-only var/repository
        odf verify --since f16205f… seattle-weather.fahrenheit
        odf verify --at-server http://127.0.0.1:8080/examples/us.faa.airports/
    """
    if since is not None and (recursive or len(refs or []) != 1):
        raise typer.BadParameter("--since is for one dataset, without its inputs")
    block = None if since is None else Multihash.from_text(since)
    options = VerifyOptions(integrity_only, recursive, timeout_s, keep, block, fresh, attest)
    if at_server:
        if junit is not None or options != _AS_IT_IS:
            raise typer.BadParameter("--at-server leaves to the server how it verifies: no other option but --json")
        _end_with(asyncio.run(_verify_at_server(refs or [], repository, as_json=as_json)))
        return
    reports = asyncio.run(_verify_and_print(refs or [], repository, options, as_json=as_json))
    if junit is not None:
        _write_junit(junit, reports)
    _end_with([report.verdict for report in reports])


def _end_with(verdicts: list[Verdict]) -> None:
    worst = max(map(EXIT_CODES.__getitem__, verdicts), default=ExitCode.OK)
    if worst is not ExitCode.OK:
        raise typer.Exit(worst)


async def _verify_at_server(refs: list[str], repository: str, *, as_json: bool) -> list[Verdict]:
    if not refs:
        raise typer.BadParameter("--at-server needs the names or addresses of datasets")
    verdicts = []
    for located in [await required_on_server(ref, repository) for ref in refs]:
        with progress_bars() as advance:
            state = await verified_by_server(located, advance)
        if as_json:
            print_json({"name": located.name, **state}, indent=None)
        else:
            print_line("\n".join(told_lines(located.name, state)))
        verdicts.append(verdict_in(state))
    return verdicts


async def _verify_and_print(refs: list[str], repository: str, options: VerifyOptions, *, as_json: bool) -> list[Report]:
    reports = []
    async for name, recorded in verify_all(refs, repository, options):
        _print(name, recorded, as_json=as_json)
        reports.append(recorded.report)
    return reports


def _print(name: str, recorded: Recorded, *, as_json: bool) -> None:
    kept = {} if recorded.hash is None else {"report": str(recorded.hash)}
    kept |= {} if recorded.signer is None else {"signer": recorded.signer}
    if as_json:
        print_json({"name": name, **recorded.report.as_dict(), **kept}, indent=None)
    else:
        told = [name, recorded.report.as_text(), *(f"{label} {value}" for label, value in kept.items())]
        print_line("\n".join(told))
    if recorded.not_kept is not None:
        print_note(f"odf: the report was not kept, or not signed: {recorded.not_kept.message}")


def _write_junit(file: Path, reports: list[Report]) -> None:
    suites = [report.as_junit().split("?>", 1)[-1].strip() for report in reports]
    file.write_text("<?xml version='1.0' encoding='utf-8'?>\n<testsuites>\n" + "\n".join(suites) + "\n</testsuites>\n")
