"""Files of a tree of blocks, read from its root with every block proved: nobody who sends blocks need be trusted.

Folders are kept once read, since every key of a dataset is looked up in the same few; of large ones, which are trees of
shards themselves, only the shards on the way are asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final

from opendatafabric.errors import LimitExceeded, MalformedDag, NotFound
from opendatafabric.ipfs.cid import Cid, Codec
from opendatafabric.ipfs.dag_pb import Link
from opendatafabric.ipfs.unixfs import Kind, read_unixfs
from opendatafabric.ipfs.walk import resolve
from opendatafabric.limits import DAG_DEPTH_MAX, IPFS_CACHED_BYTES_MAX
from storage.ipfs.blocks import run_walk
from storage.ipfs.sources import BlockSource

_FILES: Final = frozenset({Kind.FILE, Kind.RAW})


class BlockTree:
    """What lies below the root that ``find_root`` tells, which is asked once."""

    def __init__(self, source: BlockSource, find_root: Callable[[], Awaitable[Cid]]) -> None:
        self._source = source
        self._find_root = find_root
        self._root: Cid | None = None
        self._folders: dict[Cid, dict[bytes, Link]] = {}
        self._nodes = _RecentBlocks(IPFS_CACHED_BYTES_MAX)

    async def find(self, path: Sequence[str]) -> Cid:
        """The CID at ``path`` below the root.

        Raises:
            NotFound: there is nothing, or the source has not the blocks that lead there.
            MalformedDag, HashMismatch: the tree is none.
        """
        here = await self.root()
        for part in path:
            here = await self._entry(here, part)
        return here

    async def root(self) -> Cid:
        """The root of the tree."""
        if self._root is None:
            self._root = await self._find_root()
        return self._root

    async def size(self, cid: Cid) -> int:
        """How many bytes the file ``cid`` has."""
        node = read_unixfs(cid, await self.node(cid))
        if node.kind not in _FILES:
            raise MalformedDag(f"{cid} is no file", found=node.kind.name)
        return node.size

    async def read(self, cid: Cid, start: int, end: int) -> AsyncIterator[bytes]:
        """The bytes of the file ``cid`` from ``start`` up to ``end``, or as many of them as there are."""
        async for piece in self._read(cid, start, end, None, 0):
            yield piece

    async def _read(self, cid: Cid, start: int, end: int, announced: int | None, depth: int) -> AsyncIterator[bytes]:
        # What nodes above say of sizes is held against what lies below: a walk costs no more than its bytes.
        if depth > DAG_DEPTH_MAX:
            raise LimitExceeded("a tree of blocks is too deep", expected=f"at most {DAG_DEPTH_MAX} levels")
        node = read_unixfs(cid, await self._source.block(cid))
        size = len(node.data) + sum(node.sizes)
        if node.kind not in _FILES or size != (node.size if announced is None else announced):
            raise MalformedDag(f"{cid} is not the part of a file that it is said to be", expected=announced, found=size)
        if node.data[start:end]:
            yield node.data[start:end]
        position = len(node.data)
        for link, below in zip(node.links, node.sizes, strict=True):
            if start < position + below and position < end:
                async for piece in self._read(link.cid, max(0, start - position), end - position, below, depth + 1):
                    yield piece
            position += below

    async def _entry(self, folder: Cid, name: str) -> Cid:
        if folder not in self._folders:
            node = read_unixfs(folder, await self.node(folder))
            if node.kind is not Kind.DIRECTORY:
                return (await run_walk(resolve(folder, [name]), self.node))[0]
            self._folders[folder] = {link.name: link for link in node.links}
        link = self._folders[folder].get(name.encode())
        if link is None:
            raise NotFound(f"there is no {name[:100]!r} under {folder}")
        return link.cid

    async def node(self, cid: Cid) -> bytes:
        """The block of a folder or of the top of a file; kept for a while."""
        data = self._nodes.get(cid)
        if data is None:
            data = await self._source.block(cid)
            if cid.codec is Codec.DAG_PB:
                self._nodes.put(cid, data)
        return data


class _RecentBlocks:
    """The blocks used last, up to a number of bytes."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._blocks: OrderedDict[Cid, bytes] = OrderedDict()

    def get(self, cid: Cid) -> bytes | None:
        if cid in self._blocks:
            self._blocks.move_to_end(cid)
        return self._blocks.get(cid)

    def put(self, cid: Cid, data: bytes) -> None:
        self._bytes += len(data) - len(self._blocks.pop(cid, b""))
        self._blocks[cid] = data
        while self._bytes > self._bytes_max:
            self._bytes -= len(self._blocks.popitem(last=False)[1])
