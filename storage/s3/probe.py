"""Whether a store honours conditional writes: found out by trying, before the first head is moved.

A store that ignores ``If-None-Match`` or ``If-Match`` answers 200 to every writer of a race, and pushes would be lost
without a sign. Such a store is refused for writing heads; reading from it is fine.
"""

from __future__ import annotations

import secrets

import obstore

from opendatafabric.errors import UnsupportedOperation
from storage.s3.cells import Cell, Cells
from storage.s3.client import S3Bucket
from storage.s3.errors import translated
from storage.s3.location import S3Location


async def require_conditions(bucket: S3Bucket, location: S3Location) -> None:
    """Return if writes below ``location`` are conditional when asked so, and listed at once; tried once per process.

    Raises:
        UnsupportedOperation: the store overwrites what it was told not to, or lists later.
    """
    if bucket.conditions_proved:
        return
    folder = location.path(f".odf-probe-{secrets.token_hex(8)}")
    path = f"{folder}/cell"
    try:
        await _prove(Cells(bucket), path)
        await _prove_listing(bucket, folder)
    finally:
        with translated(f"delete {path}"):
            await obstore.delete_async(await bucket.store(), path)
    bucket.conditions_proved = True


async def _prove(cells: Cells, path: str) -> None:
    absent = Cell()
    created = await cells.swap(path, absent, b"first")
    first = await cells.read(path)
    if not created or first.value != b"first":
        raise _refused(path, "a new object cannot be made, or not be read back")
    if await cells.swap(path, absent, b"second"):
        raise _refused(path, "an object that is to be new replaces one that is there (If-None-Match)")
    if not await cells.swap(path, first, b"third"):
        raise _refused(path, "an object that nobody changed cannot be replaced (If-Match)")
    if await cells.swap(path, first, b"fourth"):
        raise _refused(path, "an object that was changed meanwhile is replaced (If-Match)")


async def _prove_listing(bucket: S3Bucket, folder: str) -> None:
    with translated(f"list {folder}/"):
        listed = await obstore.list_with_delimiter_async(await bucket.store(), folder)
    if not listed["objects"]:
        raise _refused(folder, "what was just written is not listed, so nobody would see what others are about to do")


def _refused(path: str, why: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        f"this store cannot keep heads: {why}",
        found=path,
        hint="use a store with conditional writes: AWS S3, MinIO, or a gateway of a newer version",
    )
