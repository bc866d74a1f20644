"""``odf sign``: sign the head of a dataset, or hand the signing over to another key."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line
from cli.signing import handed_over, signed


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset, here or on a server.")],
    key: Annotated[Path, typer.Option("--key", metavar="KEYFILE", help="32 bytes, or 64 hexadecimal digits.")],
    hand_over: Annotated[
        str | None,
        typer.Option("--hand-over", metavar="KEY", help="From now on this key signs: did:key:…, a file, or nobody."),
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Sign the head that a dataset has, and keep the signature beside the chain; or let another key sign from now on.

    \b
    Example:
        odf sign us.noaa.seattle-weather --key weather.key --repo my-repository
        odf sign alice/weather --key old.key --hand-over new.key --repo https://data.example.org
    """
    if hand_over is not None:
        told = asyncio.run(handed_over(ref, repository, key, to=hand_over))
    else:
        told = asyncio.run(signed(ref, repository, key))
    if as_json:
        print_json(told)
    elif hand_over is not None:
        print_line(f"{ref}: heads are signed by {told['signedBy'] or 'nobody'} from now on")
    else:
        print_line(f"{ref}: {told['head']} is signed by {told['key']}")
