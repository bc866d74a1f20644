"""Objects in IPFS: their bytes at a node, pinned, and a table that knows which key is which CID.

Before anything is named, it was cut into blocks here as well and the node agreed on the CID. Nothing in IPFS can be
compared and swapped, so refs and leases lie beside the table. What no key names any more is unpinned, now or, when the
node does not answer, by the next sweep; the node's own garbage collection, which is never started from here, gives the
space back.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from itertools import chain, islice
from pathlib import Path

from opendatafabric.errors import HashMismatch, NotFound, ObjectNotFound, OdfError, TransientStorageError
from opendatafabric.ipfs.car import car_header, car_section
from opendatafabric.ipfs.cid import Block, Cid, Codec
from opendatafabric.ipfs.unixfs import FileImport, import_file
from opendatafabric.limits import BLOCK_BYTES_MAX, IPFS_ROOTS_PER_IMPORT_MAX
from opendatafabric.multihash import Hasher, physical_hash
from storage.hashing_stream import gathered
from storage.ipfs.node import IpfsNode
from storage.ipfs.table import FileTable, HeldFile, NamedFile
from storage.keys import split_key
from storage.protocols import LeaseStore
from storage.reading import followed, joined
from storage.values import ByteRange, Capabilities, Followed, ObjectInfo, Quarantined, WriteMode

Infos = list[ObjectInfo]


class IpfsObjectStore:
    """An ObjectStore of one dataset at a node; ``table`` and ``leases`` are its part of the catalog."""

    def __init__(self, node: IpfsNode, table: FileTable, leases: LeaseStore) -> None:
        self.capabilities = Capabilities(writable=True, listable=True)
        self.leases = leases
        self._node = node
        self._table = table

    # --- reading

    async def stat(self, key: str) -> ObjectInfo:
        return _info(await self._find(key))

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        return await joined(key, self.stream(key), size_max=size_max)

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        named = await self._find(key)
        window = byte_range or ByteRange(0)
        start = min(window.start, named.size)
        end = named.size if window.end is None else min(window.end, named.size)
        try:
            if named.cid.codec is Codec.RAW:  # one block, which is proved and cheaper to ask for
                yield (await self._node.block(named.cid))[start:end]
                return
            async with aclosing(self._node.cat(named.cid, start, max(0, end - start))) as pieces:
                async for piece in pieces:
                    yield piece
        except NotFound as error:
            raise ObjectNotFound(f"{key} is at the node no more: {error.message}", hint="run odf fsck") from error

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        return await followed(self.read, key, next_key, count_max=count_max)

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        for named in await self._table.list(prefix):
            yield _info(named)

    def local_path(self, key: str) -> Path | None:
        split_key(key)
        return None

    # --- writing

    async def put(self, key: str, data: bytes, mode: WriteMode = WriteMode.KEEP) -> None:
        split_key(key)
        await self._put({key: data}, mode)

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        for key in objects:
            split_key(key)
        rest = iter(objects.items())
        while some := dict(islice(rest, IPFS_ROOTS_PER_IMPORT_MAX)):
            await self._put(some, WriteMode.KEEP)

    async def quarantine(self, pieces: AsyncIterator[bytes], *, size_max: int) -> Quarantined:
        passing = _Passing()
        found = await self._node.add(passing.through(gathered(pieces, size_max=size_max)))
        held = await asyncio.to_thread(passing.finish)
        if found != held.cid:
            raise HashMismatch("the IPFS node stored other bytes than it was sent", expected=held.cid, found=found)
        await self._table.hold([held])
        await self._node.pin(held.cid)  # again: before it was held, somebody may have let go of the same bytes
        return Quarantined(held.token, held.hash, held.size)

    async def publish(self, quarantined: Quarantined, key: str) -> None:
        split_key(key)
        await self._release(await self._table.name([(key, quarantined.token)], WriteMode.REPLACE))

    async def discard(self, quarantined: Quarantined) -> None:
        await self._release(await self._table.let_go(quarantined.token))

    async def delete(self, key: str) -> None:
        split_key(key)
        await self._release(await self._table.remove(key))

    async def expire_quarantine(self, *, before: float, dry_run: bool = False) -> Infos:
        held = await self._table.held_before(before)
        if not dry_run:
            for token, _, _ in held:
                await self._release(await self._table.let_go(token))
            await unpin_released(self._node, self._table)
        return [ObjectInfo(token, size, since) for token, size, since in held]

    async def _put(self, objects: Mapping[str, bytes], mode: WriteMode) -> None:
        cut = await asyncio.to_thread(lambda: [_Cut(data) for data in objects.values()])
        tokens = [(key, each.held.token) for key, each in zip(objects, cut, strict=True)]
        await self._table.hold([each.held for each in cut])
        try:
            await self._import([each.held.cid for each in cut], chain.from_iterable(each.blocks for each in cut))
            await self._release(await self._table.name(tokens, mode))
        except Exception:
            with suppress(OdfError):  # what stays held is swept
                for _, token in tokens:
                    await self._release(await self._table.let_go(token))
            raise

    async def _import(self, cids: Sequence[Cid], blocks: Iterator[Block]) -> None:
        roots = list(dict.fromkeys(cids))
        await self._node.import_car(_car(roots, blocks), roots=roots)

    async def _release(self, released: Sequence[Cid]) -> None:
        with suppress(TransientStorageError):  # they are noted as released, and unpinned by the next sweep
            await _unpin(self._node, self._table, released)

    async def _find(self, key: str) -> NamedFile:
        split_key(key)
        found = await self._table.find(key)
        if found is None:
            raise ObjectNotFound(f"{key} is not in the store")
        return found


async def unpin_released(node: IpfsNode, table: FileTable) -> None:
    """Unpin what was released, of whatever dataset, while the node did not answer.

    Raises:
        TransientStorageError: it does not answer yet.
    """
    await _unpin(node, table, await table.released())


async def _unpin(node: IpfsNode, table: FileTable, released: Sequence[Cid]) -> None:
    for cid in released:
        await node.unpin(cid)
    for cid in await table.unpinned(released):  # whoever came meanwhile may have pinned before we unpinned
        await node.pin(cid)


class _Passing:
    """Bytes on their way to the node: hashed, and cut into blocks only to learn the CID."""

    def __init__(self) -> None:
        self._hasher = Hasher()
        self._importing = FileImport(lambda block: None)

    async def through(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for piece in pieces:
            await asyncio.to_thread(self._take, piece)
            yield piece

    def _take(self, piece: bytes) -> None:
        self._hasher.update(piece)
        self._importing.update(piece)

    def finish(self) -> HeldFile:
        return HeldFile(_token(), self._importing.finish().cid, self._hasher.finish(), self._hasher.size)


class _Cut:
    """A small object as blocks."""

    def __init__(self, data: bytes) -> None:
        self.blocks: list[Block] = []
        tree = import_file(data, self.blocks.append)
        self.held = HeldFile(_token(), tree.cid, physical_hash(data), len(data))


async def _car(roots: Sequence[Cid], blocks: Iterator[Block]) -> AsyncIterator[bytes]:
    yield car_header(roots)
    for block in blocks:
        yield car_section(block.cid, len(block.data)) + block.data


def _token() -> str:
    return secrets.token_hex(16)


def _info(named: NamedFile) -> ObjectInfo:
    return ObjectInfo(named.key, named.size, named.modified_at)
