"""``odf restore``: make a repository from a backup."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from catalog.engine import sqlite_url
from catalog.snapshot import catalog_file, copy_catalog
from cli.catalogs import settings_for
from cli.commands.backup import CATALOG_NAME
from cli.datasets import local_repository
from cli.options import AsJson
from cli.output import print_json, print_line
from cli.transfers import print_transfer
from opendatafabric.errors import Conflict
from storage.open import init_repository, local_folder, scheme_of
from storage.s3.location import SCHEMES
from sync.backup import copy_repository


def command(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="The folder that odf backup wrote.")],
    target: Annotated[
        str, typer.Argument(metavar="DIR|URL", help="The new repository: an empty folder or place in S3, or none yet.")
    ],
    as_json: AsJson = False,
) -> None:
    """Copy a backup into a new repository, with its accounts, tokens and permissions. Every byte is proved on the way.

    \b
    Example:
        odf restore /backup/datasets my-repository
    """
    catalog = _new_catalog(target)
    asyncio.run(_restore(str(backup), target, as_json=as_json))
    copied = asyncio.run(copy_catalog(sqlite_url(backup / CATALOG_NAME), catalog))
    if as_json:
        print_json({"catalog": copied}, indent=None)
    else:
        print_line("catalog restored" if copied else "the backup has no catalog")


def _new_catalog(target: str) -> Path:
    """Where the catalog goes: beside the datasets, or where the settings say when those are in S3."""
    if scheme_of(target) not in SCHEMES:
        return local_folder(target) / CATALOG_NAME
    file = catalog_file(settings_for(target).database_url)
    if file.exists():
        raise Conflict("there is a catalog already", found=file, hint="name another one by ODF_CATALOG_URL")
    return file


async def _restore(backup: str, place: str, *, as_json: bool) -> None:
    source = local_repository(backup)
    target = await init_repository(place, layout=source.layout)
    async for entry in target.iterate(include_pending=True):
        raise Conflict(f"{place} has datasets already", found=entry.alias, hint="restore into an empty place")
    async for copied in copy_repository(source, target):
        print_transfer(str(copied.alias), copied.result, as_json=as_json)
