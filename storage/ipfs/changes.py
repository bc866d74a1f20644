"""What a tree of a dataset holds that an earlier one did not: the blocks that a mirror must be sent.

Both trees are compared from their roots down, so the cost goes with what changed: a folder that is equal is not looked
into, and of a large one only the shards that differ. A file that merely moved, as when a folder becomes one of shards,
is known by its name. Files are cut into blocks anew from the stored objects; only blocks of folders are looked up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass

from opendatafabric.errors import HashMismatch, NotFound
from opendatafabric.ipfs.car import car_header, car_section
from opendatafabric.ipfs.cid import Block, Cid
from opendatafabric.ipfs.dag_pb import Link
from opendatafabric.ipfs.hamt import PREFIX_CHARS
from opendatafabric.ipfs.unixfs import FileImport, Kind, UnixFsNode, read_unixfs
from opendatafabric.ipfs.walk import walk_dag
from opendatafabric.layout import REFS
from opendatafabric.limits import INLINE_HASH_BYTES_MAX
from storage.ipfs.blocks import ReadBlock, walked
from storage.ipfs.tree import BlockTree
from storage.protocols import ObjectReader


@dataclass(frozen=True, slots=True)
class TreeChanges:
    """``read`` gives the blocks of the new tree's folders, ``objects`` its files, ``before`` is the earlier tree."""

    objects: ObjectReader
    read: ReadBlock
    before: BlockTree | None

    async def blocks(self, root: Cid) -> AsyncIterator[Block]:
        """Every block of ``root`` that the earlier tree has not, and hardly any that it has.

        Raises:
            ObjectNotFound, HashMismatch: an object is gone or damaged.
        """
        block = Block(root, await self.read(root))
        yield block
        for link in read_unixfs(root, block.data).links:
            name = link.name.decode()
            known = await self._before((name,))
            if known == link.cid:
                continue
            below = walked(walk_dag(link.cid), self.read) if name == REFS else self._folder(name, link.cid, known)
            async for changed in below:
                yield changed

    async def _folder(self, folder: str, cid: Cid, known: Cid | None) -> AsyncIterator[Block]:
        block = Block(cid, await self.read(cid))
        yield block
        node = read_unixfs(cid, block.data)
        same_place = {} if known is None else await self._links_before(known)
        for link in node.links:
            there = same_place.get(link.name)
            if there == link.cid:
                continue
            async for changed in self._entry(folder, node, link, there):
                yield changed

    async def _entry(self, folder: str, node: UnixFsNode, link: Link, there: Cid | None) -> AsyncIterator[Block]:
        is_sharded = node.kind is Kind.HAMT_SHARD
        if is_sharded and len(link.name) == PREFIX_CHARS:
            async for block in self._folder(folder, link.cid, there):
                yield block
            return
        name = link.name[PREFIX_CHARS if is_sharded else 0 :].decode()
        if await self._before((folder, name)) != link.cid:
            async for block in file_blocks(self.objects, f"{folder}/{name}", link.cid):
                yield block

    async def _links_before(self, cid: Cid) -> dict[bytes, Cid]:
        assert self.before is not None
        return {link.name: link.cid for link in read_unixfs(cid, await self.before.node(cid)).links}

    async def _before(self, path: tuple[str, ...]) -> Cid | None:
        if self.before is None:
            return None
        try:
            return await self.before.find(path)
        except NotFound:
            return None


async def file_blocks(objects: ObjectReader, key: str, expected: Cid) -> AsyncIterator[Block]:
    """The blocks of a stored object as a file, below before above.

    Raises:
        ObjectNotFound: it is gone.
        HashMismatch: it is not the file ``expected``, as is known only at the end.
    """
    made: list[Block] = []
    importing = FileImport(made.append)
    async for piece in objects.stream(key):
        if len(piece) <= INLINE_HASH_BYTES_MAX:
            importing.update(piece)
        else:
            await asyncio.to_thread(importing.update, piece)
        for block in made:
            yield block
        made.clear()
    found = importing.finish()
    for block in made:
        yield block
    if found.cid != expected:
        raise HashMismatch(f"{key} is damaged", expected=expected, found=found.cid, hint="run odf fsck")


async def car_pieces(root: Cid, blocks: AsyncIterable[Block]) -> AsyncIterator[bytes]:
    """A CAR of ``blocks`` with one root, as they come."""
    yield car_header([root])
    async for block in blocks:
        yield car_section(block.cid, len(block.data)) + block.data
