"""``odf witness``: do several repositories show the same dataset, and what they showed before?"""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

import typer

from cli.exit_codes import ExitCode
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_table
from cli.witnessing import look
from verify.witness import ALARMS, Look, Shown

COLUMNS: Final = ("STATE", "BLOCKS", "HEAD", "PLACE")


def command(
    ref: Annotated[str, typer.Argument(metavar="REF|DIR|URL", help="The dataset.")],
    others: Annotated[list[str], typer.Argument(metavar="URL…", help="The same dataset in other places.")],
    accept: Annotated[
        bool, typer.Option("--accept", help="Take what is there now for right, and remember it.")
    ] = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Compare one dataset as several repositories show it, and with what they showed at the last look.

    Chains that fork are told with the first block that differs; so is a head that went back, or leads to other blocks
    than before. Ends with 0 when all have the same chain, or the beginning of it; with 3 when they do not, or one took
    something back; with 1 when one could not be looked at.

    \b
    Example:
        odf witness us.noaa.seattle-weather http://127.0.0.1:8080/examples/us.noaa.seattle-weather
    """
    shown = asyncio.run(look(ref, others, repository, accept=accept))
    if as_json:
        print_json([each.as_dict() for each in shown])
    else:
        print_table(COLUMNS, map(_cells, shown))
        for each in shown:
            _print_what_is_wrong(each)
    if any(each.look in ALARMS for each in shown):
        raise typer.Exit(ExitCode.INVALID)
    if any(each.look is Look.UNREACHABLE for each in shown):
        raise typer.Exit(ExitCode.FAILED)


def _cells(shown: Shown) -> tuple[str, ...]:
    if shown.seen is None:
        return shown.look.value, "", "", shown.place
    return shown.look.value, str(shown.seen.sequence_number + 1), str(shown.seen.head), shown.place


def _print_what_is_wrong(shown: Shown) -> None:
    if shown.error is not None:
        print_line(f"{shown.place}: {shown.error}")
    if shown.look is Look.ROLLED_BACK:
        print_line(f"{shown.place}: its head went back by {shown.behind} blocks since the last look")
    if shown.fork is not None:
        than = "than before" if shown.look is Look.REPLACED else "than the longest chain"
        print_line(f"{shown.place}: block {shown.fork.sequence_number} is another {than}")
        print_line(f"    expected: {shown.fork.expected or 'none'}")
        print_line(f"    found: {shown.fork.found or 'none'}")
