"""``odf car``: datasets as archives of IPFS."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from cli.mirrors import archive
from cli.options import AsJson, RepositoryOption
from cli.output import format_bytes, print_json, print_line
from opendatafabric.errors import MalformedIdentifier
from storage.open import CAR_SUFFIX

IS_GROUP = True
app = typer.Typer(
    help="""Datasets as archives of IPFS. To take one in: odf pull FILE.car --as NAME.

\b
Example:
    odf car export us.faa.airports airports.car
""",
    no_args_is_help=True,
)


@app.command()
def export(
    ref: Annotated[str, typer.Argument(metavar="REF|DIR|URL", help="The dataset.")],
    file: Annotated[Path, typer.Argument(metavar="FILE.car", dir_okay=False, help="The archive to write.")],
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Write a dataset into one file, as the tree of blocks that IPFS has of it; prints the CID of its root.

    \b
    Example:
        odf car export us.faa.airports airports.car
    """
    if file.suffix != CAR_SUFFIX:
        raise MalformedIdentifier(f"{file} does not end in {CAR_SUFFIX}", hint="archives are known by their name")
    done = asyncio.run(archive(ref, repository, file))
    if as_json:
        print_json({"name": done.name, "root": str(done.root), "file": str(file), "bytes": done.size}, indent=None)
    else:
        print_line(f"{done.name}: {done.root} in {file} ({format_bytes(done.size)})")
