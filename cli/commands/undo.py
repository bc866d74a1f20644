"""``odf undo``: put the head of a dataset back to where it was."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.head_history import undone
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset, here or on a server.")],
    to: Annotated[
        str | None, typer.Option("--to", metavar="HASH", help="An earlier head, as 'odf reflog' shows it.")
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Put the head back to where it was before its last move, as after a push by force that was a mistake.

    Only if all that it led to is there still; ODF_REFLOG_KEPT_S says how long that is.

    \b
    Example:
        odf undo us.noaa.seattle-weather --repo my-repository
    """
    told = asyncio.run(undone(ref, repository, to=to))
    if as_json:
        print_json(told)
    else:
        print_line(f"{ref}: {told['newHead']} is the head again, instead of {told['oldHead']}")
