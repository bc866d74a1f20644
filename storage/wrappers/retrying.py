"""A store that is asked again when it says that this may help.

Only what can be done twice is: reading, keeping and replacing under a key, deleting. A stream that arrives cannot be
sent again, and neither publishing, creating nor moving a head tells after a failure whether it took effect: those
fail at once, and who began them decides.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from opendatafabric.errors import OdfError
from opendatafabric.limits import BLOCK_BYTES_MAX
from opendatafabric.multihash import Multihash
from storage.backoff import FIRST_WAIT_S, TRIES, Sleep, retried, wait_after
from storage.protocols import ObjectStore, RefStore
from storage.values import ByteRange, Followed, ObjectInfo, Quarantined, WriteMode
from storage.wrappers.passing import PassingObjectStore, PassingRefStore

T = TypeVar("T")


class Patience:
    """How often to try, and how long to wait between: twice as long each time, with jitter."""

    def __init__(self, *, tries: int = TRIES, first_wait_s: float = FIRST_WAIT_S, sleep: Sleep | None = None) -> None:
        self._tries = tries
        self._first_wait_s = first_wait_s
        self._sleep = sleep

    async def retry(self, action: Callable[[], Awaitable[T]]) -> T:
        """What ``action`` returns in the end; the last error, or the first that is not ``retryable``."""
        return await retried(action, tries=self._tries, first_wait_s=self._first_wait_s, sleep=self._sleep)

    async def wait_after(self, error: OdfError, attempt: int) -> None:
        """Wait before the try after ``attempt`` (from 0); ``error`` again when there is to be none."""
        if not error.retryable or attempt + 1 >= self._tries:
            raise error
        await wait_after(error, attempt, first_wait_s=self._first_wait_s, sleep=self._sleep)


class RetryingObjectStore(PassingObjectStore):
    """``inner``, asked again with ``patience``."""

    def __init__(self, inner: ObjectStore, patience: Patience | None = None) -> None:
        super().__init__(inner)
        self._patience = patience or Patience()

    async def stat(self, key: str) -> ObjectInfo:
        return await self._patience.retry(lambda: self.inner.stat(key))

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        return await self._patience.retry(lambda: self.inner.read(key, size_max=size_max))

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        rest = byte_range or ByteRange(0)
        failures = 0
        while True:
            try:
                async for piece in self.inner.stream(key, rest):
                    rest, failures = replace(rest, start=rest.start + len(piece)), 0
                    yield piece
                return
            except OdfError as error:
                await self._patience.wait_after(error, failures)
                failures += 1

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        found: Followed = []
        following: str | None = key

        def take(data: bytes) -> str | None:
            nonlocal following
            assert following is not None
            found.append((following, data))
            following = next_key(data)
            return following

        async def go_on() -> None:
            if following is not None:
                await self.inner.follow(following, take, count_max=count_max - len(found))

        await self._patience.retry(go_on)
        return found

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        told: set[str] = set()
        failures = 0
        while True:
            try:
                async for info in _untold(self.inner.list(prefix), told):
                    yield info
                return
            except OdfError as error:
                await self._patience.wait_after(error, failures)
                failures += 1

    async def put(self, key: str, data: bytes, mode: WriteMode = WriteMode.KEEP) -> None:
        if mode is WriteMode.CREATE:
            await self.inner.put(key, data, mode)
        else:
            await self._patience.retry(lambda: self.inner.put(key, data, mode))

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        await self._patience.retry(lambda: self.inner.put_many(objects))

    async def discard(self, quarantined: Quarantined) -> None:
        await self._patience.retry(lambda: self.inner.discard(quarantined))

    async def delete(self, key: str) -> None:
        await self._patience.retry(lambda: self.inner.delete(key))


class RetryingRefStore(PassingRefStore):
    """``inner``, asked again with ``patience``; a head that was to move is not."""

    def __init__(self, inner: RefStore, patience: Patience | None = None) -> None:
        super().__init__(inner)
        self._patience = patience or Patience()

    async def read(self, name: str) -> Multihash | None:
        return await self._patience.retry(lambda: self.inner.read(name))

    async def list(self) -> dict[str, Multihash]:
        return await self._patience.retry(self.inner.list)


async def _untold(infos: AsyncIterator[ObjectInfo], told: set[str]) -> AsyncIterator[ObjectInfo]:
    async for info in infos:
        if info.key not in told:
            told.add(info.key)
            yield info
