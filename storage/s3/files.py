"""A file beside the datasets in a bucket, put and fetched whole: what a backup keeps there besides them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from pathlib import Path
from typing import Any

import obstore

from opendatafabric.errors import ObjectNotFound
from storage.local import durable
from storage.s3.client import bucket_at
from storage.s3.errors import translated
from storage.s3.location import S3Location


async def put_file(location: S3Location, name: str, source: Path) -> None:
    """Keep the file ``source`` as ``name``; readers see the old or the new one whole."""
    path, store = location.path(name), await bucket_at(location.bucket, location.endpoint).store()
    with translated(f"write {path}"):
        await obstore.put_async(store, path, source)


async def fetch_file(location: S3Location, name: str, target: Path) -> bool:
    """Write what is kept as ``name`` to the new file ``target``; ``False`` when there is none."""
    path, store = location.path(name), await bucket_at(location.bucket, location.endpoint).store()
    try:
        with translated(f"read {path}"):
            await _write(target, (await obstore.get_async(store, path)).stream())
    except ObjectNotFound:
        return False
    return True


async def _write(target: Path, pieces: AsyncIterable[Any]) -> None:
    with durable.translated(f"write {target}"), durable.opened(target, durable.CREATE_FLAGS) as descriptor:
        async for piece in pieces:
            await asyncio.to_thread(durable.write_all, descriptor, bytes(piece))
