"""A store that keeps what was read from a slower one in a quicker one, bounded by bytes.

Only keys that are hashes are kept, since nothing else stays true; heads never. What comes out of the cache is hashed
again: a damaged entry counts as none and goes. What is not in ``inner`` any more may be read until it is crowded out.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress

from opendatafabric.errors import OdfError
from opendatafabric.limits import BLOCK_BYTES_MAX, INLINE_HASH_BYTES_MAX, READ_CHUNK_BYTES
from opendatafabric.multihash import Multihash, physical_hash
from storage.keys import is_addressed, split_key
from storage.protocols import ObjectStore
from storage.reading import followed, joined
from storage.values import ByteRange, Followed, Quarantined, WriteMode
from storage.wrappers.passing import PassingObjectStore


class ObjectCache:
    """Up to ``bytes_max`` of objects in ``store``, of which those used longest ago go first.

    The store belongs to the cache alone: other datasets may share the cache, other writers may not.
    """

    def __init__(self, store: ObjectStore, *, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self._store = store
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._total = 0
        self._opened = False
        self._changing = asyncio.Lock()

    async def get(self, key: str) -> bytes | None:
        """The bytes of ``key`` if they are kept and right."""
        await self._open()
        if key not in self._sizes:
            return None
        try:
            data: bytes | None = await self._store.read(key, size_max=self._sizes[key])
        except OdfError:
            data = None
        if data is None or not await _is_right(key, data):
            await self.drop(key)
            return None
        if key in self._sizes:
            self._sizes.move_to_end(key)
        return data

    async def keep(self, key: str, data: bytes) -> None:
        """Keep bytes if they are those of ``key`` and fit; a store that cannot take them is no error."""
        if not is_addressed(key) or len(data) > self.bytes_max or not await _is_right(key, data):
            return
        await self._open()
        async with self._changing:
            try:
                await self._store.put(key, data)
            except OdfError:
                return
            self._total += len(data) - self._sizes.pop(key, 0)
            self._sizes[key] = len(data)
            while self._total > self.bytes_max:
                await self._remove(next(iter(self._sizes)))

    async def drop(self, key: str) -> None:
        """Keep ``key`` no longer."""
        await self._open()
        async with self._changing:
            if key in self._sizes:
                await self._remove(key)

    async def _remove(self, key: str) -> None:
        self._total -= self._sizes.pop(key)
        # What cannot be deleted is found again when the cache is opened the next time.
        with suppress(OdfError):
            await self._store.delete(key)

    async def _open(self) -> None:
        if self._opened:
            return
        async with self._changing:
            if self._opened:
                return
            left = [info async for info in self._store.list() if is_addressed(info.key)]
            for info in sorted(left, key=lambda each: each.modified_at):
                self._sizes[info.key] = info.size
                self._total += info.size
            while self._total > self.bytes_max:
                await self._remove(next(iter(self._sizes)))
            self._opened = True


class CachingObjectStore(PassingObjectStore):
    """``inner`` behind ``cache``; objects larger than ``entry_bytes_max`` pass by."""

    def __init__(self, inner: ObjectStore, cache: ObjectCache, *, entry_bytes_max: int = BLOCK_BYTES_MAX) -> None:
        super().__init__(inner)
        self._cache = cache
        self._entry_bytes_max = min(entry_bytes_max, cache.bytes_max)

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        split_key(key)
        kept = await self._cache.get(key)
        if kept is not None:
            return await joined(key, _pieces(kept), size_max=size_max)
        data = await self.inner.read(key, size_max=size_max)
        if len(data) <= self._entry_bytes_max:
            await self._cache.keep(key, data)
        return data

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        split_key(key)
        kept = await self._cache.get(key)
        window = byte_range or ByteRange(0)
        if kept is not None:
            pieces = _pieces(kept[window.start : window.end])
        elif window == ByteRange(0):
            pieces = self._kept_on_the_way(key)
        else:
            pieces = self.inner.stream(key, byte_range)
        async for piece in pieces:
            yield piece

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        return await followed(self.read, key, next_key, count_max=count_max)

    async def put(self, key: str, data: bytes, mode: WriteMode = WriteMode.KEEP) -> None:
        await self._cache.drop(key)
        await self.inner.put(key, data, mode)

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        for key in objects:
            await self._cache.drop(key)
        await self.inner.put_many(objects)

    async def publish(self, quarantined: Quarantined, key: str) -> None:
        await self._cache.drop(key)
        await self.inner.publish(quarantined, key)

    async def delete(self, key: str) -> None:
        await self.inner.delete(key)
        await self._cache.drop(key)

    async def _kept_on_the_way(self, key: str) -> AsyncIterator[bytes]:
        passed: list[bytes] | None = []
        size = 0
        async for piece in self.inner.stream(key):
            size += len(piece)
            if size > self._entry_bytes_max:
                passed = None
            if passed is not None:
                passed.append(piece)
            yield piece
        if passed is not None:
            await self._cache.keep(key, b"".join(passed))


async def _is_right(key: str, data: bytes) -> bool:
    expected = Multihash.from_text(key.partition("/")[2])
    if len(data) <= INLINE_HASH_BYTES_MAX:
        return physical_hash(data) == expected
    return await asyncio.to_thread(physical_hash, data) == expected


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), READ_CHUNK_BYTES):
        yield data[start : start + READ_CHUNK_BYTES]
