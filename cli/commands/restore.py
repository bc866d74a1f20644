"""``odf restore``: make a repository from a backup."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from catalog.engine import sqlite_url
from catalog.snapshot import copy_catalog
from cli.commands.backup import CATALOG_NAME
from cli.datasets import local_repository
from cli.options import AsJson
from cli.output import print_json, print_line
from cli.transfers import print_transfer
from opendatafabric.errors import Conflict
from storage.repository import Repository
from sync.backup import copy_repository


def command(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="The folder that odf backup wrote.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The new repository; an empty folder, or none yet.")],
    as_json: AsJson = False,
) -> None:
    """Copy a backup into a new repository, with its accounts, tokens and permissions. Every byte is proved on the way.

    \b
    Example:
        odf restore /backup/datasets my-repository
    """
    source = local_repository(str(backup))
    target = Repository.init(folder, source.layout)
    asyncio.run(_restore(source, target, as_json=as_json))
    copied = asyncio.run(copy_catalog(sqlite_url(backup / CATALOG_NAME), folder / CATALOG_NAME))
    if as_json:
        print_json({"catalog": copied}, indent=None)
    else:
        print_line("catalog restored" if copied else "the backup has no catalog")


async def _restore(source: Repository, target: Repository, *, as_json: bool) -> None:
    async for entry in target.iterate(include_pending=True):
        raise Conflict(f"{target.root} has datasets already", found=entry.alias, hint="restore into an empty folder")
    async for copied in copy_repository(source, target):
        print_transfer(str(copied.alias), copied.result, as_json=as_json)
