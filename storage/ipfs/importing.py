"""Objects read once as UnixFS files, proved against their physical hash on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from opendatafabric.errors import HashMismatch
from opendatafabric.ipfs.cid import Block, Codec
from opendatafabric.ipfs.unixfs import FileImport
from opendatafabric.layout import parse_key
from opendatafabric.multihash import Hasher, Multihash
from storage.ipfs.index import FileBlock, IndexedFile
from storage.protocols import ObjectReader


async def import_object(objects: ObjectReader, key: str) -> IndexedFile:
    """The object ``key`` of a store as a file; read and hashed piece by piece, the hashing in threads.

    Raises:
        ObjectNotFound: it is not there.
        HashMismatch: it is damaged.
    """
    importing = _Import(parse_key(key)[1])
    async for piece in objects.stream(key):
        await asyncio.to_thread(importing.update, piece)
    return await asyncio.to_thread(importing.finish, key)


def import_bytes(physical_hash: Multihash, data: bytes) -> IndexedFile:
    """A small object whose bytes are at hand and have been checked."""
    importing = _Blocks()
    file = FileImport(importing.take)
    file.update(data)
    return IndexedFile(physical_hash, file.finish(), importing.distinct())


def import_all(objects: Sequence[tuple[Multihash, bytes]]) -> list[IndexedFile]:
    """``import_bytes`` of each."""
    return [import_bytes(physical_hash, data) for physical_hash, data in objects]


class _Blocks:
    """Where each block of a file lies, noted as they are made."""

    def __init__(self) -> None:
        self._found: dict[bytes, FileBlock] = {}
        self._offset = 0

    def take(self, block: Block) -> None:
        name, size = bytes(block.cid), len(block.data)
        if block.cid.codec is Codec.DAG_PB:
            self._found.setdefault(name, FileBlock(block.cid, 0, size, block.data))
            return
        self._found.setdefault(name, FileBlock(block.cid, self._offset, size))
        self._offset += size

    def distinct(self) -> tuple[FileBlock, ...]:
        return tuple(self._found.values())


class _Import:
    def __init__(self, expected: Multihash) -> None:
        self._expected = expected
        self._hasher = Hasher()
        self._blocks = _Blocks()
        self._file = FileImport(self._blocks.take)

    def update(self, piece: bytes) -> None:
        self._hasher.update(piece)
        self._file.update(piece)

    def finish(self, key: str) -> IndexedFile:
        found = self._hasher.finish()
        if found != self._expected:
            raise HashMismatch(f"{key} is damaged", expected=self._expected, found=found, hint="run odf fsck")
        return IndexedFile(found, self._file.finish(), self._blocks.distinct())
