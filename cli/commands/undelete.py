"""``odf undelete``: bring back a dataset that was deleted."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.lifecycles import listed_deleted, undeleted
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_table


def command(
    ref: Annotated[
        str | None, typer.Argument(metavar="REF", help="The dataset, by the name it had or its id; without it, list.")
    ] = None,
    name: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Another name than it had.")] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Bring a deleted dataset back as it was, or list those that may come back.

    \b
    Example:
        odf undelete --repo my-repository
        odf undelete com.example.city-populations --repo my-repository
    """
    if ref is None:
        _list(repository, as_json=as_json)
        return
    told = asyncio.run(undeleted(ref, repository, name=name))
    if as_json:
        print_json(told)
    else:
        print_line(f"{told['name']} is back")


def _list(repository: str, *, as_json: bool) -> None:
    kept = asyncio.run(listed_deleted(repository))
    if as_json:
        print_json(kept)
    else:
        print_table(("NAME", "KEPT UNTIL", "ID"), [(each["name"], each["keptUntil"], each["id"]) for each in kept])
