"""A reader that fetches what it has not from elsewhere, proves it by its hash, and keeps it while there is room.

Nothing unproved goes out: what fits into the cache is taken in whole before the first byte is passed on, and of what
does not fit the last piece is held back until all of it was hashed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from opendatafabric.errors import HashMismatch, ObjectNotFound, TransientStorageError, UnsupportedOperation
from opendatafabric.limits import BLOCK_BYTES_MAX
from opendatafabric.multihash import Hasher, Multihash
from storage.keys import is_addressed, split_key
from storage.protocols import ObjectReader
from storage.reading import followed, joined
from storage.values import ByteRange, Capabilities, Followed, ObjectInfo
from storage.wrappers.caching import ObjectCache, in_pieces


class PullThroughReader:
    """``inner`` behind ``cache``, which other readers may share: equal keys are equal bytes wherever they come from."""

    def __init__(self, inner: ObjectReader, cache: ObjectCache) -> None:
        self.capabilities = Capabilities(writable=False, listable=False)
        self._inner = inner
        self._cache = cache

    async def stat(self, key: str) -> ObjectInfo:
        split_key(key)
        size = await self._cache.size_of(key)
        return await self._inner.stat(key) if size is None else ObjectInfo(key, size, 0.0)

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        return await joined(key, self.stream(key), size_max=size_max)

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        split_key(key)
        window = byte_range or ByteRange(0)
        async for piece in await self._pieces(key, window):
            yield piece

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        return await followed(self.read, key, next_key, count_max=count_max)

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        raise UnsupportedOperation("what lies elsewhere cannot be listed")
        yield  # makes this a generator, as the contract has it

    def local_path(self, key: str) -> Path | None:
        split_key(key)
        return None

    async def _pieces(self, key: str, window: ByteRange) -> AsyncIterator[bytes]:
        if not is_addressed(key):
            return self._inner.stream(key, window)
        if not await self._fetched(key):
            return _proved(key, self._inner.stream(key), window)
        kept = await self._cache.get(key) if (await self._cache.size_of(key) or 0) <= BLOCK_BYTES_MAX else None
        return self._kept(key, window) if kept is None else in_pieces(kept[window.start : window.end])

    async def _fetched(self, key: str) -> bool:
        try:
            return await self._cache.fetch(key, lambda: self._inner.stream(key))
        except HashMismatch as error:
            raise TransientStorageError(f"the source sent other bytes as {key}", found=error.found) from error

    async def _kept(self, key: str, window: ByteRange) -> AsyncIterator[bytes]:
        """An object too large for memory; it was proved when it came, and is again whenever it is read whole."""
        pieces = self._cache.stream(key, window)
        try:
            async for piece in _proved(key, pieces, window) if window == ByteRange(0) else pieces:
                yield piece
        except (HashMismatch, ObjectNotFound) as error:
            await self._cache.drop(key)
            raise TransientStorageError(f"{key} was damaged or crowded out here", hint="ask again") from error


async def _proved(key: str, pieces: AsyncIterator[bytes], window: ByteRange) -> AsyncIterator[bytes]:
    """Those of all ``pieces`` that lie in ``window``; the last of them only once all were hashed.

    Raises:
        HashMismatch: they are not what ``key`` names.
    """
    hasher, held = Hasher(), b""
    async for piece in pieces:
        start = hasher.size
        await asyncio.to_thread(hasher.update, piece)
        end = len(piece) if window.end is None else max(0, window.end - start)
        wanted = piece[max(0, window.start - start) : end]
        if wanted:
            if held:
                yield held
            held = wanted
    found, expected = hasher.finish(), Multihash.from_text(key.partition("/")[2])
    if found != expected:
        raise HashMismatch(f"{key} has other bytes than its name says", expected=expected, found=found)
    if held:
        yield held
