"""``odf reflog``: how the head of a dataset moved, and who moved it."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.head_history import moves_of
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_table


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset, here or on a server.")],
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Show how the head of a dataset moved at the server over the repository, the newest move first.

    \b
    Example:
        odf reflog us.noaa.seattle-weather --repo my-repository
    """
    moves = asyncio.run(moves_of(ref, repository))
    if as_json:
        print_json(moves)
    else:
        rows = [
            (each["at"], each["account"] or "", each["expectedHead"] or "", each["newHead"] or "") for each in moves
        ]
        print_table(("AT", "BY", "FROM", "TO"), rows)
