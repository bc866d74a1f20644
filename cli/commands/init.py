"""``odf init``: a new repository."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from cli.catalogs import connection_to
from cli.options import AsJson
from cli.output import print_json, print_line
from storage.open import init_repository
from storage.repositories import DatasetRepository
from storage.repository import Repository


def command(
    place: Annotated[
        str, typer.Argument(metavar="DIR|URL", help="The folder, or an address in S3 or at an IPFS node.")
    ],
    as_json: AsJson = False,
) -> None:
    """Make an empty repository. One that is there already is left as it is.

    \b
    Example:
        odf init my-repository
        odf init s3+https://minio.example.org/bucket/datasets
        odf init kubo+http://127.0.0.1:5001/datasets
    """
    repository = asyncio.run(_init(place))
    name = str(repository.root) if isinstance(repository, Repository) else place
    if as_json:
        print_json({"repository": name, "layout": repository.layout.value})
    else:
        print_line(f"repository {name}")


async def _init(place: str) -> DatasetRepository:
    async with connection_to(place) as connection:
        return await init_repository(place, connection)
