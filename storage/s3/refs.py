"""Refs of a dataset in a bucket, moved by conditional writes: ``refs/head`` holds the text of the hash, as everywhere.

A ref that was removed holds ``-``: not every store can delete on a condition.
"""

from __future__ import annotations

from typing import Final

import obstore

from opendatafabric.errors import TransientStorageError
from opendatafabric.layout import REFS, ref_key
from opendatafabric.multihash import Multihash
from storage.ref_text import is_ref_name, parse_ref, ref_conflict
from storage.s3.cells import Cell, Cells
from storage.s3.client import bucket_at
from storage.s3.errors import translated
from storage.s3.location import S3Location
from storage.s3.probe import require_conditions

_ROUNDS_MAX: Final = 32
Names = list[str]


class S3RefStore:
    """A RefStore at ``location``, safe for any number of processes."""

    def __init__(self, location: S3Location) -> None:
        self.location = location
        self._bucket = bucket_at(location.bucket, location.endpoint)
        self._cells = Cells(self._bucket)

    async def read(self, name: str) -> Multihash | None:
        return _head_in(name, await self._cells.read(self.location.path(ref_key(name))))

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        path = self.location.path(ref_key(name))
        await require_conditions(self._bucket, self.location)
        for _ in range(_ROUNDS_MAX):
            cell = await self._cells.read(path)
            actual = _head_in(name, cell)
            if actual != expected:
                raise ref_conflict(name, expected, actual)
            if new == expected or await self._cells.swap(path, cell, None if new is None else str(new).encode()):
                return
        raise TransientStorageError(f"{name} is moved too often by others", hint="try again")

    async def list(self) -> dict[str, Multihash]:
        found = {name: await self.read(name) for name in await self.names()}
        return {name: head for name, head in found.items() if head is not None}

    async def names(self) -> Names:
        """Names of all refs, of those too that cannot be read."""
        store, folder = await self._bucket.store(), self.location.path(REFS)
        with translated(f"list {folder}/"):
            listed = await obstore.list_with_delimiter_async(store, folder)
        names = (each["path"].rpartition("/")[2] for each in listed["objects"])
        return sorted(name for name in names if is_ref_name(name))


def _head_in(name: str, cell: Cell) -> Multihash | None:
    return None if cell.value is None else parse_ref(f"{REFS}/{name}", cell.value)
