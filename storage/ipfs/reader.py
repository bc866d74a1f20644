"""A dataset that lies in IPFS as a tree, read with every block proved, the head included. It cannot be written."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from opendatafabric.block_ref import HEAD, check_block_ref
from opendatafabric.errors import NotFound, ObjectNotFound, UnsupportedOperation
from opendatafabric.ipfs.cid import Cid
from opendatafabric.limits import BLOCK_BYTES_MAX
from opendatafabric.multihash import Multihash
from storage.ipfs.tree import BlockTree
from storage.keys import split_key
from storage.reading import followed, joined
from storage.ref_text import REF_BYTES_MAX, parse_ref
from storage.values import ByteRange, Capabilities, Followed, ObjectInfo


class TreeObjectReader:
    """An ObjectReader over the files of ``tree``."""

    def __init__(self, tree: BlockTree) -> None:
        self.capabilities = Capabilities(writable=False, listable=False)
        self._tree = tree

    async def stat(self, key: str) -> ObjectInfo:
        cid = await self._find(key)
        with _incomplete(key):
            return ObjectInfo(key, await self._tree.size(cid), 0.0)

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        return await joined(key, self.stream(key), size_max=size_max)

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        window = byte_range or ByteRange(0)
        end = sys.maxsize if window.end is None else window.end
        cid = await self._find(key)
        with _incomplete(key):
            async for piece in self._tree.read(cid, window.start, end):
                yield piece

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        return await followed(self.read, key, next_key, count_max=count_max)

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        raise UnsupportedOperation("a dataset in IPFS cannot be listed")
        yield  # makes this a generator, as the contract has it

    def local_path(self, key: str) -> Path | None:
        split_key(key)
        return None

    async def _find(self, key: str) -> Cid:
        try:
            return await self._tree.find(split_key(key))
        except NotFound as error:
            raise ObjectNotFound(f"{key} is not in the tree: {error.message}") from error


@contextmanager
def _incomplete(key: str) -> Iterator[None]:
    try:
        yield
    except NotFound as error:
        raise ObjectNotFound(f"{key} is not whole: {error.message}") from error


class TreeRefStore:
    """A RefStore that reads ``refs/…`` of ``tree``."""

    def __init__(self, tree: BlockTree) -> None:
        self._tree = tree

    async def read(self, name: str) -> Multihash | None:
        check_block_ref(name)
        try:
            cid = await self._tree.find(("refs", name))
            text = await joined(name, self._tree.read(cid, 0, REF_BYTES_MAX + 1), size_max=REF_BYTES_MAX + 1)
        except NotFound:
            return None
        return parse_ref(f"refs/{name}", text)

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        raise UnsupportedOperation(
            "a head in IPFS cannot be moved", hint="push to a repository that is mirrored to IPFS"
        )

    async def list(self) -> dict[str, Multihash]:
        head = await self.read(HEAD)
        return {} if head is None else {HEAD: head}
