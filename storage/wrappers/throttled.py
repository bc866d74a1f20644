"""A store that moves no more than so many bytes a second, for scrubs and mirrors beside a server at work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

from opendatafabric.limits import BLOCK_BYTES_MAX
from storage.protocols import ObjectStore
from storage.values import ByteRange, Capabilities, Followed, Quarantined, WriteMode
from storage.wrappers.passing import PassingObjectStore


class Throttle:
    """So many bytes a second over everything that shares it; idle time is not saved up.

    ``now`` in seconds of a clock that never goes back.
    """

    def __init__(
        self,
        bytes_per_s: float,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._bytes_per_s = bytes_per_s
        self._now = now
        self._sleep = sleep
        self._free_at = 0.0

    async def passed(self, size: int) -> None:
        """``size`` bytes were moved: wait for as long as they should have taken."""
        now = self._now()
        self._free_at = max(self._free_at, now) + size / self._bytes_per_s
        if self._free_at > now:
            await self._sleep(self._free_at - now)


class ThrottledObjectStore(PassingObjectStore):
    """``inner`` at the rate of ``throttle``. Files are not handed to the kernel, which would not wait."""

    def __init__(self, inner: ObjectStore, throttle: Throttle) -> None:
        super().__init__(inner)
        self._throttle = throttle

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.inner.capabilities, sendfile=False)

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        data = await self.inner.read(key, size_max=size_max)
        await self._throttle.passed(len(data))
        return data

    def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        return self._slowly(self.inner.stream(key, byte_range))

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        found = await self.inner.follow(key, next_key, count_max=count_max)
        await self._throttle.passed(sum(len(data) for _, data in found))
        return found

    def local_path(self, key: str) -> Path | None:
        self.inner.local_path(key)
        return None

    async def put(self, key: str, data: bytes, mode: WriteMode = WriteMode.KEEP) -> None:
        await self.inner.put(key, data, mode)
        await self._throttle.passed(len(data))

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        await self.inner.put_many(objects)
        await self._throttle.passed(sum(map(len, objects.values())))

    async def quarantine(self, pieces: AsyncIterator[bytes], *, size_max: int) -> Quarantined:
        return await self.inner.quarantine(self._slowly(pieces), size_max=size_max)

    async def _slowly(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for piece in pieces:
            await self._throttle.passed(len(piece))
            yield piece
