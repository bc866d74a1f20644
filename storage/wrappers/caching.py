"""A store that keeps what was read from a slower one in a quicker one, bounded by bytes.

Only keys that are hashes are kept, since nothing else stays true; heads never. What comes out of the cache is hashed
again: a damaged entry counts as none and goes. What is not in ``inner`` any more may be read until it is crowded out.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress

from opendatafabric.errors import LimitExceeded, OdfError, StorageFull
from opendatafabric.limits import BLOCK_BYTES_MAX, INLINE_HASH_BYTES_MAX, KNOWN_KEYS_MAX, READ_CHUNK_BYTES
from opendatafabric.multihash import Multihash, physical_hash
from storage.keys import is_addressed, split_key
from storage.protocols import ObjectStore
from storage.quarantine import receive_object
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
        self._fetching: dict[str, asyncio.Task[bool]] = {}

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
            await self._count(key, len(data))

    async def fetch(self, key: str, pieces: Callable[[], AsyncIterator[bytes]]) -> bool:
        """Keep what ``pieces`` gives, unless ``key`` is kept already; ``False`` when there is no room for it.

        Many who ask at the same moment cause one fetch, which goes on when they go away.

        Raises:
            HashMismatch: other bytes came; nothing of them is kept.
            OdfError: whatever ``pieces`` raises.
        """
        await self._open()
        if key in self._sizes:
            self._sizes.move_to_end(key)
            return True
        if key not in self._fetching:
            self._fetching[key] = asyncio.create_task(self._fetch(key, pieces()))
            self._fetching[key].add_done_callback(lambda task: self._fetched(key, task))
        return await asyncio.shield(self._fetching[key])

    async def size_of(self, key: str) -> int | None:
        """How many bytes are kept of ``key``, if any are."""
        await self._open()
        return self._sizes.get(key)

    def stream(self, key: str, byte_range: ByteRange) -> AsyncIterator[bytes]:
        """The bytes of ``key`` as they lie there, not checked again; ``ObjectNotFound`` when they are gone."""
        return self._store.stream(key, byte_range)

    async def settle(self) -> None:
        """Give up what is being fetched."""
        for task in (tasks := list(self._fetching.values())):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def sweep(self, *, before: float) -> None:
        """Forget what broke off before then, in seconds as the store counts them."""
        await self._store.expire_quarantine(before=before)

    async def _fetch(self, key: str, pieces: AsyncIterator[bytes]) -> bool:
        expected = Multihash.from_text(key.partition("/")[2])
        try:
            size = await receive_object(self._store, key, pieces, expected_hash=expected, size_max=self.bytes_max)
        except (LimitExceeded, StorageFull):
            return False
        async with self._changing:
            await self._count(key, size)
        return True

    def _fetched(self, key: str, task: asyncio.Task[bool]) -> None:
        del self._fetching[key]
        if not task.cancelled():
            task.exception()  # looked at: nobody may be waiting for it any more

    async def drop(self, key: str) -> None:
        """Keep ``key`` no longer."""
        await self._open()
        async with self._changing:
            if key in self._sizes:
                await self._remove(key)

    async def _count(self, key: str, size: int) -> None:
        self._total += size - self._sizes.pop(key, 0)
        self._sizes[key] = size
        while self._total > self.bytes_max:
            await self._remove(next(iter(self._sizes)))

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
    """``inner`` behind ``cache``; objects larger than ``entry_bytes_max`` pass by.

    Where datasets share a cache, ``known_keys`` holds the keys that ``inner`` is known to have: it is asked for others
    first, so that nobody reads what another dataset put there. Other stores over the same dataset may share them.
    """

    def __init__(
        self,
        inner: ObjectStore,
        cache: ObjectCache,
        *,
        entry_bytes_max: int = BLOCK_BYTES_MAX,
        known_keys: set[str] | None = None,
    ) -> None:
        super().__init__(inner)
        self._cache = cache
        self._entry_bytes_max = min(entry_bytes_max, cache.bytes_max)
        self._known_keys = known_keys

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        split_key(key)
        kept = await self._kept(key)
        if kept is not None:
            return await joined(key, in_pieces(kept), size_max=size_max)
        data = await self.inner.read(key, size_max=size_max)
        await self._keep(key, data)
        return data

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        split_key(key)
        kept = await self._kept(key)
        window = byte_range or ByteRange(0)
        if kept is not None:
            pieces = in_pieces(kept[window.start : window.end])
        elif window == ByteRange(0):
            pieces = self._kept_on_the_way(key)
        else:
            pieces = self.inner.stream(key, byte_range)
        async for piece in pieces:
            yield piece

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        return await followed(self.read, key, next_key, count_max=count_max)

    async def put(self, key: str, data: bytes, mode: WriteMode = WriteMode.KEEP) -> None:
        await self._forget(key)
        await self.inner.put(key, data, mode)

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        for key in objects:
            await self._forget(key)
        await self.inner.put_many(objects)
        for key, data in objects.items():  # a chain that was pushed is read soon
            await self._keep(key, data)

    async def publish(self, quarantined: Quarantined, key: str) -> None:
        await self._forget(key)
        await self.inner.publish(quarantined, key)

    async def delete(self, key: str) -> None:
        await self.inner.delete(key)
        await self._forget(key)

    async def _kept(self, key: str) -> bytes | None:
        kept = await self._cache.get(key)
        if kept is not None and self._known_keys is not None and key not in self._known_keys:
            await self.inner.stat(key)
            self._note(key)
        return kept

    async def _keep(self, key: str, data: bytes) -> None:
        if len(data) <= self._entry_bytes_max:
            await self._cache.keep(key, data)
            self._note(key)

    async def _forget(self, key: str) -> None:
        await self._cache.drop(key)
        if self._known_keys is not None:
            self._known_keys.discard(key)

    def _note(self, key: str) -> None:
        if self._known_keys is not None:
            if len(self._known_keys) >= KNOWN_KEYS_MAX:
                self._known_keys.clear()
            self._known_keys.add(key)

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
            await self._keep(key, b"".join(passed))


async def _is_right(key: str, data: bytes) -> bool:
    expected = Multihash.from_text(key.partition("/")[2])
    if len(data) <= INLINE_HASH_BYTES_MAX:
        return physical_hash(data) == expected
    return await asyncio.to_thread(physical_hash, data) == expected


async def in_pieces(data: bytes) -> AsyncIterator[bytes]:
    """``data`` as a stream."""
    for start in range(0, len(data), READ_CHUNK_BYTES):
        yield data[start : start + READ_CHUNK_BYTES]
