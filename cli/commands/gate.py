"""``odf gate``: what is pushed to a dataset becomes its head when it was verified, not before."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Annotated, Any

import typer

from catalog.gates import Gate
from cli.gates import gated
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line


class Wish(StrEnum):
    """What is wanted of a gate."""

    ON = "on"
    OFF = "off"


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset.")],
    wish: Annotated[
        Wish | None, typer.Argument(metavar="[on|off]", help="Have a gate, or none; without it, show how it is.")
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Steps of a derivative must be repeated too, not only integrity.")
    ] = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Have pushes to a dataset verified before they count, or no longer; or show how its gate is.

    What is pushed to a server lies on the ref 'staging' until a worker has verified it, and becomes the head then.

    \b
    Example:
        odf gate us.noaa.seattle-weather on --replay --repo my-repository
        odf gate us.noaa.seattle-weather --repo my-repository
    """
    state = asyncio.run(_set_and_show(repository, ref, wish, replay=replay))
    if as_json:
        print_json(state)
    else:
        _print_for_people(state)


async def _set_and_show(repository: str, ref: str, wish: Wish | None, *, replay: bool) -> dict[str, Any]:
    async with gated(repository) as found:
        if wish is not None:
            await found.set(ref, Gate(replay) if wish is Wish.ON else None)
        return await found.state(ref)


def _print_for_people(state: dict[str, Any]) -> None:
    what = "no gate" if not state["on"] else "gate: integrity and replay" if state["replay"] else "gate: integrity"
    print_line(f"{state['dataset']}: {what}")
    if state["staged"] is not None:
        print_line(f"  staged: {state['staged']}")
    outcome = state["lastOutcome"]
    if outcome is not None:
        print_line(f"  last: {outcome['result']}")
        if outcome.get("finding"):
            print_line(f"    {outcome['finding']}")
    if state["lastError"] is not None:
        print_line(f"  error: {state['lastError']}")
