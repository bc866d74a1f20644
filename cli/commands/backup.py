"""``odf backup``: copy a repository and its catalog."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from catalog.snapshot import catalog_file
from cli.catalog_copies import keep_catalog
from cli.catalogs import settings_for
from cli.datasets import opened_repository
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line
from cli.transfers import print_transfer
from storage.open import init_repository
from sync.backup import copy_repository


def command(
    target: Annotated[
        str, typer.Argument(metavar="DIR|URL", help="Where to, a folder or a place in S3; made if it is not there.")
    ],
    with_catalog: Annotated[
        bool, typer.Option("--catalog/--no-catalog", help="Copy the catalog too, if it is an SQLite file.")
    ] = True,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Copy every dataset, and the catalog, to a place that is itself a repository. Safe while servers run.

    A second time only what is new is copied.

    \b
    Example:
        odf backup /backup/datasets --repo my-repository
        odf backup s3://bucket/backup --repo my-repository
    """
    url = settings_for(repository).database_url
    if with_catalog:
        catalog_file(url)  # another database is refused before anything is copied
    asyncio.run(_copy(repository, target, as_json=as_json))
    if not with_catalog:
        return
    copied = asyncio.run(keep_catalog(url, target))
    if as_json:
        print_json({"catalog": copied}, indent=None)
    else:
        print_line("catalog copied" if copied else "there is no catalog yet")


async def _copy(repository: str, place: str, *, as_json: bool) -> None:
    async with opened_repository(repository) as source:
        async for copied in copy_repository(source, await init_repository(place, layout=source.layout)):
            print_transfer(str(copied.alias), copied.result, as_json=as_json)
