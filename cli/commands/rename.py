"""``odf rename``: give a dataset another name."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.lifecycles import renamed
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset, here or on a server.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name, without the account.")],
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Give a dataset another name. Its id, history and rights stay; its old name is reserved for its owner.

    \b
    Example:
        odf rename com.example.city-populations com.example.cities --repo my-repository
    """
    told = asyncio.run(renamed(ref, repository, name=name))
    if as_json:
        print_json(told)
    else:
        print_line(f"{ref} is {told['name']} now")
