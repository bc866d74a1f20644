"""Many objects at once, down or up: in parallel, proved as they arrive, tried again, resumed.

No status is trusted: an object is what hashes to its name in the size its block says. A download that breaks off goes
on where it stopped; an address that has expired is reported, so that it can be asked for anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import aiohttp

from opendatafabric.chain.objects import ObjectFile
from opendatafabric.errors import ObjectNotFound, PeerUnavailable
from opendatafabric.limits import HTTP_RESUMES_MAX, READ_CHUNK_BYTES, TRANSFERS_AT_ONCE
from storage.backoff import retried
from storage.dataset import Dataset, object_key
from storage.progress import BYTES, OBJECTS, Progress, silent
from storage.protocols import ObjectReader, ObjectStore
from storage.quarantine import receive_object
from sync.object_requests import object_request, range_start, strong_etag
from sync.smart.messages import TransferUrl

T = TypeVar("T")


class Counter:
    """Counts what is done for a progress display."""

    def __init__(self, progress: Progress, files: Sequence[ObjectFile]) -> None:
        self._progress = progress
        self._total_bytes = sum(file.size for file in files)
        self._total = len(files)
        self.done = 0
        self.bytes = 0

    def moved(self, size: int) -> None:
        self.bytes += size
        self._progress(BYTES, self.bytes, self._total_bytes)

    def finished(self) -> None:
        self.done += 1
        self._progress(OBJECTS, self.done, self._total)

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[Counted]:
        """One try to move an object; what it moved does not count when it fails."""
        counted = Counted(self)
        try:
            yield counted
        except BaseException:
            self.moved(-counted.size)
            raise


class Counted:
    """Counts the pieces that pass."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self.size = 0

    async def pass_on(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for piece in pieces:
            self.size += len(piece)
            self._counter.moved(len(piece))
            yield piece


async def in_parallel(
    items: Iterable[T], action: Callable[[T], Awaitable[None]], at_once: int = TRANSFERS_AT_ONCE
) -> None:
    """Do ``action`` for every item, a few at a time; the first error ends all."""
    queue = iter(items)

    async def work() -> None:
        for item in queue:
            await action(item)

    tasks = [asyncio.create_task(work()) for _ in range(at_once)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def copy_objects(
    source: ObjectReader, target: ObjectStore, files: Sequence[ObjectFile], *, progress: Progress = silent
) -> None:
    """Copy objects between stores, each proved on arrival."""
    counter = Counter(progress, files)

    async def copy(file: ObjectFile) -> None:
        await retried(lambda: _take(target, file, source.stream(object_key(file)), counter))
        counter.finished()

    await in_parallel(files, copy)


class Downloads:
    """Objects from addresses that a server handed out."""

    def __init__(self, session: aiohttp.ClientSession, target: Dataset, counter: Counter) -> None:
        self._session = session
        self._store: ObjectStore = target.writable_objects()
        self._counter = counter

    async def fetch(self, file: ObjectFile, url: TransferUrl) -> None:
        """One object, stored once it is proved.

        Raises:
            Expired: the address has to be renewed.
            HashMismatch, SizeMismatch, ObjectNotFound, PeerUnavailable: as they say.
        """
        await retried(lambda: _take(self._store, file, self._resumed(file, url), self._counter))
        self._counter.finished()

    async def _resumed(self, file: ObjectFile, url: TransferUrl) -> AsyncIterator[bytes]:
        arrived = _Arrived()
        resumes = 0
        while True:
            try:
                async for piece in self._pieces(url, arrived):
                    resumes = 0
                    yield piece
                return
            except PeerUnavailable:
                resumes += 1
                if arrived.count == 0 or arrived.count >= file.size or resumes > HTTP_RESUMES_MAX:
                    raise

    async def _pieces(self, url: TransferUrl, arrived: _Arrived) -> AsyncIterator[bytes]:
        headers = {"Accept-Encoding": "identity", **arrived.range_headers()}
        async with object_request(self._session, "GET", url, headers) as response:
            passed_over = arrived.count - range_start(response, arrived.count)
            arrived.etag = strong_etag(response)
            async for whole in response.content.iter_chunked(READ_CHUNK_BYTES):
                piece = whole[passed_over:]
                passed_over = max(0, passed_over - len(whole))
                if piece:
                    arrived.count += len(piece)
                    yield piece


@dataclass(slots=True)
class _Arrived:
    """How far a download has come, and of which version of the object."""

    count: int = 0
    etag: str | None = None

    def range_headers(self) -> dict[str, str]:
        if self.count == 0:
            return {}
        same = {} if self.etag is None else {"If-Range": self.etag}
        return {"Range": f"bytes={self.count}-", **same}


class Uploads:
    """Objects to addresses that a server handed out."""

    def __init__(self, session: aiohttp.ClientSession, source: Dataset, counter: Counter) -> None:
        self._session = session
        self._source = source.objects
        self._counter = counter

    async def send(self, file: ObjectFile, url: TransferUrl) -> None:
        """One object; a 2xx is success.

        Raises:
            Expired: the address has to be renewed.
            ObjectNotFound: there is no such object here.
            TransferRejected, PeerUnavailable: as they say.
        """
        await self._require_here(file)
        await retried(lambda: self._send_once(file, url))
        self._counter.finished()

    async def _require_here(self, file: ObjectFile) -> None:
        key = object_key(file)
        try:
            await self._source.stat(key)
        except ObjectNotFound:
            raise ObjectNotFound(
                f"{key} is asked for and not here", hint="after a pull of metadata alone, pull again with --since"
            ) from None

    async def _send_once(self, file: ObjectFile, url: TransferUrl) -> None:
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(file.size)}
        async with self._counter.attempt() as counted:
            body = counted.pass_on(self._source.stream(object_key(file)))
            async with object_request(self._session, "PUT", url, headers, body) as response:
                await response.read()


async def _take(store: ObjectStore, file: ObjectFile, pieces: AsyncIterator[bytes], counter: Counter) -> None:
    async with counter.attempt() as counted:
        await receive_object(
            store,
            object_key(file),
            counted.pass_on(pieces),
            expected_hash=file.physical_hash,
            expected_size=file.size,
            size_max=file.size,
        )
