"""``odf promote``: make what is staged the head of several datasets together."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from cli.exit_codes import ExitCode
from cli.gates import gated
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line
from verify.promote_job import GateResult
from verify.promotion import Promotions

CODES = {GateResult.REJECTED.value: ExitCode.INVALID, GateResult.HELD.value: ExitCode.FAILED}


def command(
    refs: Annotated[list[str], typer.Argument(metavar="REF…", help="The datasets.")],
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Verify what is staged in these datasets, each with what is staged in the others, and promote all or none.

    Inputs and what is derived from them so become visible in one step. Ends with 0 when all were promoted, with 3 when
    one is not valid and with 1 when one could not be checked; then everything stays as it was.

    \b
    Example:
        odf promote us.noaa.seattle-weather seattle-weather.fahrenheit --repo my-repository
    """
    results = asyncio.run(_promote(repository, refs))
    for name, told in results:
        if as_json:
            print_json({"dataset": name, **told}, indent=None)
        else:
            print_line(f"{name}: {told['result']}" + (f": {told['finding']}" if told["finding"] else ""))
    worst = max((CODES.get(told["result"], ExitCode.OK) for _, told in results), default=ExitCode.OK)
    if worst is not ExitCode.OK:
        raise typer.Exit(worst)


async def _promote(repository: str, refs: list[str]) -> list[tuple[str, dict[str, Any]]]:
    async with gated(repository) as found:
        await Promotions(found.repository, found.catalog.gates).finish_begun()
        entries = [await found.find(ref) for ref in refs]
        results = await found.promoting().together([entry.id for entry in entries])
        return [(str(entry.alias), told) for entry, told in results]
