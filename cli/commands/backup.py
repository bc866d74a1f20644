"""``odf backup``: copy a repository and its catalog."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from catalog.snapshot import copy_catalog
from cli.catalogs import settings_for
from cli.datasets import repository_at
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line
from cli.transfers import print_transfer
from storage.repository import Repository
from sync.backup import copy_repository

CATALOG_NAME = ".catalog.sqlite"


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to; made if it is not there.")],
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Copy every dataset, and the catalog, into a folder that is itself a repository. Safe while servers run.

    A second time only what is new is copied.

    \b
    Example:
        odf backup /backup/datasets --repo my-repository
    """
    asyncio.run(_copy(repository, folder, as_json=as_json))
    url = settings_for(repository).database_url
    copied = asyncio.run(copy_catalog(url, folder / CATALOG_NAME))
    if as_json:
        print_json({"catalog": copied}, indent=None)
    else:
        print_line("catalog copied" if copied else "there is no catalog yet")


async def _copy(repository: str, folder: Path, *, as_json: bool) -> None:
    source = await repository_at(repository)
    async for copied in copy_repository(source, Repository.init(folder, source.layout)):
        print_transfer(str(copied.alias), copied.result, as_json=as_json)
