"""Many objects at once, down or up: in parallel, proved as they arrive, tried again, resumed.

No status is trusted: an object is what hashes to its name in the size its block says. A download that breaks off goes
on where it stopped; an address that has expired is reported, so that it can be asked for anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Final, TypeVar

import aiohttp

from opendatafabric.chain.objects import ObjectFile
from opendatafabric.errors import (
    AccessDenied,
    ObjectNotFound,
    OdfError,
    PeerUnavailable,
    TransferRejected,
)
from opendatafabric.limits import HTTP_CONNECT_S_MAX, HTTP_SILENCE_S_MAX, READ_CHUNK_BYTES, TRANSFERS_AT_ONCE
from storage.dataset import Dataset, object_key
from storage.protocols import ObjectReader, ObjectStore
from storage.quarantine import receive_object
from sync.backoff import retried
from sync.progress import BYTES, OBJECTS, Progress, silent
from sync.smart.messages import TransferUrl

T = TypeVar("T")
_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=HTTP_CONNECT_S_MAX, sock_read=HTTP_SILENCE_S_MAX)
_EXPIRED: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.GONE}
_LATER: Final = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
_RESUMES_MAX: Final = 20


class Expired(TransferRejected):
    """The address of an object is good no longer."""

    code = "address-expired"


class Busy(PeerUnavailable):
    """The peer asked to come back later; ``retry_after_s`` says when, if it did."""

    code = "peer-busy"

    def __init__(self, message: str, retry_after_s: float | None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


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
        key = object_key(file)
        await retried(lambda: _take(target, file, _counted(source.stream(key), counter)))
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
        await retried(lambda: _take(self._store, file, self._resumed(file, url)))
        self._counter.finished()

    async def _resumed(self, file: ObjectFile, url: TransferUrl) -> AsyncIterator[bytes]:
        position = resumes = 0
        while True:
            try:
                async for piece in self._pieces(url, position):
                    position += len(piece)
                    resumes = 0
                    self._counter.moved(len(piece))
                    yield piece
                return
            except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
                resumes += 1
                if position == 0 or position >= file.size or resumes > _RESUMES_MAX:
                    raise PeerUnavailable(f"{object_key(file)} broke off: {error or type(error).__name__}") from error

    async def _pieces(self, url: TransferUrl, position: int) -> AsyncIterator[bytes]:
        headers = {row.name: row.value for row in url.headers} | {"Accept-Encoding": "identity"}
        if position:
            headers["Range"] = f"bytes={position}-"
        async with self._session.get(url.url, headers=headers, timeout=_TIMEOUT, allow_redirects=False) as response:
            _check_status(response, "download")
            skip = 0 if response.status == HTTPStatus.PARTIAL_CONTENT else position
            async for piece in response.content.iter_chunked(READ_CHUNK_BYTES):
                if skip < len(piece):
                    yield piece[skip:]
                skip = max(0, skip - len(piece))


class Uploads:
    """Objects to addresses that a server handed out."""

    def __init__(self, session: aiohttp.ClientSession, source: Dataset, counter: Counter) -> None:
        self._session = session
        self._source = source.objects
        self._counter = counter

    async def send(self, file: ObjectFile, url: TransferUrl) -> None:
        """One object; a 2xx is success.

        Raises:
            Expired, AccessDenied, TransferRejected, PeerUnavailable: as they say.
        """
        await retried(lambda: self._send_once(file, url))
        self._counter.finished()

    async def _send_once(self, file: ObjectFile, url: TransferUrl) -> None:
        headers = {row.name: row.value for row in url.headers}
        headers |= {"Content-Type": "application/octet-stream", "Content-Length": str(file.size)}
        body = _counted(self._source.stream(object_key(file)), self._counter)
        try:
            async with self._session.put(
                url.url, data=body, headers=headers, timeout=_TIMEOUT, allow_redirects=False
            ) as response:
                _check_status(response, "upload")
                await response.read()
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            raise PeerUnavailable(f"{object_key(file)} was not taken: {error or type(error).__name__}") from error


async def _take(store: ObjectStore, file: ObjectFile, pieces: AsyncIterator[bytes]) -> None:
    await receive_object(
        store,
        object_key(file),
        pieces,
        expected_hash=file.physical_hash,
        expected_size=file.size,
        size_max=file.size,
    )


async def _counted(pieces: AsyncIterator[bytes], counter: Counter) -> AsyncIterator[bytes]:
    async for piece in pieces:
        counter.moved(len(piece))
        yield piece


def _check_status(response: aiohttp.ClientResponse, what: str) -> None:
    status = response.status
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return
    raise _status_error(status, what, response.headers.get("Retry-After"))


def _status_error(status: int, what: str, retry_after: str | None) -> OdfError:
    message = f"the {what} of an object was answered with status {status}"
    if status in _EXPIRED:
        return Expired(message) if status != HTTPStatus.UNAUTHORIZED else AccessDenied(message)
    if status == HTTPStatus.NOT_FOUND:
        return ObjectNotFound(message)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _LATER:
        asked = float(retry_after) if retry_after and retry_after.isdigit() else None
        return Busy(message, asked)
    return TransferRejected(message)
