"""A copy of the catalog while it is in use, as one file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import make_url

from opendatafabric.errors import StorageError, StorageFull, UnsupportedOperation


async def copy_catalog(url: str, target: Path) -> bool:
    """Write what the catalog at ``url`` holds at one moment to the file ``target``, whole or not at all.

    ``False`` when there is no catalog yet.

    Raises:
        UnsupportedOperation: a database with tools of its own for that.
        StorageError, StorageFull: it cannot be read or written.
    """
    return await asyncio.to_thread(_copy, catalog_file(url), target)


def catalog_file(url: str) -> Path:
    """The file in which the catalog at ``url`` lies.

    Raises:
        UnsupportedOperation: a database with tools of its own.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" or not parsed.database:
        raise UnsupportedOperation(
            "only a catalog in an SQLite file is copied", hint="use the backup tools of the database, e.g. pg_dump"
        )
    return Path(parsed.database)


def _copy(source: Path, target: Path) -> bool:
    if not source.exists():
        return False
    pending = target.with_name(f"{target.name}.pending")
    try:
        pending.unlink(missing_ok=True)
        with closing(sqlite3.connect(source)) as reading, closing(sqlite3.connect(pending)) as writing:
            reading.backup(writing)
        with pending.open("rb+") as written:
            os.fsync(written.fileno())
        pending.replace(target)
        return True
    except sqlite3.Error as error:
        pending.unlink(missing_ok=True)
        family = StorageFull if "full" in str(error) else StorageError
        raise family(f"the catalog cannot be copied to {target}: {error}") from error
    except OSError as error:
        raise StorageError(f"the catalog cannot be copied to {target}: {error.strerror}") from error
