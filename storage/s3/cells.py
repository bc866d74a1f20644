"""Small mutable values in a bucket that change by compare-and-swap: heads of refs, names and records of a repository.

A write is conditional on the ETag that was read. Each carries a random number beside it, and those of writes before:
a writer whose answer was lost can look whether its write took effect, even if others have gone on since.
S3 does not delete conditionally everywhere, so a value that is gone is a value of its own.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import Final

import obstore

from opendatafabric.errors import LimitExceeded, ObjectNotFound, TransientStorageError
from opendatafabric.limits import S3_RETRIES_MAX
from storage.s3.client import S3Bucket
from storage.s3.errors import ConditionError, translated

GONE: Final = b"-"
"""The value of a cell that was emptied; no head, name or alias is written so."""

_WRITES: Final = "odf-writes"
_WRITES_KEPT: Final = 16
_VALUE_BYTES_MAX: Final = 4_096
_WAIT_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Cell:
    """What was read: ``value`` is ``None`` when there is none, ``etag`` when there is not even an object."""

    value: bytes | None = None
    etag: str | None = None
    writes: tuple[str, ...] = ()


class Cells:
    """The cells of a bucket, by path."""

    def __init__(self, bucket: S3Bucket) -> None:
        self._bucket = bucket

    async def read(self, path: str) -> Cell:
        """What is there now."""
        store = await self._bucket.store()
        try:
            with translated(f"read {path}"):
                result = await obstore.get_async(store, path)
                if result.meta["size"] > _VALUE_BYTES_MAX:
                    raise LimitExceeded(f"{path} is too long", expected=_VALUE_BYTES_MAX, found=result.meta["size"])
                value = bytes(await result.bytes_async())
        except ObjectNotFound:
            return Cell()
        writes = str(result.attributes.get(_WRITES, ""))
        return Cell(None if value == GONE else value, result.meta["e_tag"], tuple(filter(None, writes.split(","))))

    async def swap(self, path: str, old: Cell, new: bytes | None) -> bool:
        """Write ``new`` (``None`` empties) if nobody has written since ``old`` was read; whether that is so.

        Raises:
            TransientStorageError: the store does not answer, and what became of the write cannot be found out.
        """
        if old.value is None and new is None:
            return True
        write = secrets.token_hex(8)
        for attempt in range(S3_RETRIES_MAX):
            try:
                await self._put(path, old, GONE if new is None else new, write)
                return True
            except ConditionError:
                # An earlier try whose answer was lost may be the one that this one lost against.
                return write in (await self.read(path)).writes
            except TransientStorageError:
                now = await self.read(path)
                if now.etag != old.etag:
                    return write in now.writes
                await asyncio.sleep(_WAIT_S * 2**attempt)
        raise TransientStorageError(f"write {path}: the store fails again and again", hint="try again later")

    async def _put(self, path: str, old: Cell, data: bytes, write: str) -> None:
        store = await self._bucket.store()
        writes = ",".join([write, *old.writes][:_WRITES_KEPT])
        try:
            with translated(f"write {path}"):
                await obstore.put_async(
                    store,
                    path,
                    data,
                    mode="create" if old.etag is None else {"e_tag": old.etag},
                    attributes={_WRITES: writes},
                    use_multipart=False,
                )
        except ObjectNotFound as error:  # some stores answer so when the object to compare with is gone
            raise ConditionError(path) from error
