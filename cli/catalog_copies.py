"""The copy of a catalog in a backup: a file beside the datasets, in a folder or in S3."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from catalog.snapshot import copy_catalog
from catalog.sqlite_files import sqlite_url
from storage.open import local_folder, scheme_of
from storage.s3.location import SCHEMES, parse_s3_address

CATALOG_NAME: Final = ".catalog.sqlite"


async def keep_catalog(url: str, backup: str) -> bool:
    """Copy the catalog at ``url`` into the backup; ``False`` when there is none yet."""
    if scheme_of(backup) not in SCHEMES:
        return await copy_catalog(url, local_folder(backup) / CATALOG_NAME)
    from storage.s3.files import put_file  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        copied = await copy_catalog(url, Path(folder) / CATALOG_NAME)
        if copied:
            await put_file(parse_s3_address(backup), CATALOG_NAME, Path(folder) / CATALOG_NAME)
        return copied


async def bring_catalog_back(backup: str, target: Path) -> bool:
    """Copy the catalog of the backup to the file ``target``; ``False`` when the backup has none."""
    if scheme_of(backup) not in SCHEMES:
        return await copy_catalog(sqlite_url(local_folder(backup) / CATALOG_NAME), target)
    from storage.s3.files import fetch_file  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        fetched = Path(folder) / CATALOG_NAME
        return await fetch_file(parse_s3_address(backup), CATALOG_NAME, fetched) and await copy_catalog(
            sqlite_url(fetched), target
        )
