"""``odf transfer``: give a dataset to another account."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from cli.lifecycles import answered_offer, transferred
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line
from opendatafabric.errors import MalformedInput


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset, here or on a server.")],
    account: Annotated[str | None, typer.Argument(metavar="ACCOUNT", help="Who is to have it.")] = None,
    now: Annotated[bool, typer.Option("--now", help="At a server, as administrator: without being taken.")] = False,
    accept: Annotated[bool, typer.Option("--accept", help="Take a dataset that is offered to you.")] = False,
    decline: Annotated[bool, typer.Option("--decline", help="Decline it.")] = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Give a dataset to another account: at a server it is offered, and theirs when they accept it.

    Where the repository lies it is theirs at once.

    \b
    Example:
        odf transfer alice/weather bob --repo my-repository
        odf transfer alice/weather bob --repo https://data.example.org
        odf transfer alice/weather --accept --repo https://data.example.org
    """
    told = asyncio.run(_transfer(ref, repository, account, now=now, accept=accept, decline=decline))
    if as_json:
        print_json(told)
    elif "to" in told:
        print_line(f"{told['name']} is offered to {told['to']}")
    else:
        print_line(f"{ref} is {told['name']} now" if told else f"{ref} is declined")


async def _transfer(
    ref: str, repository: str, account: str | None, *, now: bool, accept: bool, decline: bool
) -> dict[str, Any]:
    if account is not None and not (accept or decline):
        return await transferred(ref, repository, receiver=account, now=now)
    if account is None and accept != decline:
        return await answered_offer(ref, repository, accept=accept)
    raise MalformedInput("say who is to have it, or accept or decline it", hint="odf transfer REF ACCOUNT")
