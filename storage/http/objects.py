"""Objects of a dataset behind plain HTTP: another repository, or any static web server over a dataset folder.

Follows the simple transfer protocol: ``<dataset>/blocks/…``, ``data/…``, ``checkpoints/…``. The session is the
caller's, with its limits and proxies. A body that breaks off is continued by ``Range`` where the server can.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from pathlib import Path

import aiohttp

from opendatafabric.errors import TransientStorageError, UnsupportedOperation
from opendatafabric.limits import BLOCK_BYTES_MAX, HTTP_RESUMES_MAX, READ_CHUNK_BYTES
from storage.http.answer import REPOSITORY, HttpFolder, Manners
from storage.keys import split_key
from storage.reading import followed, joined
from storage.values import ByteRange, Capabilities, Followed, ObjectInfo


class HttpObjectReader:
    """An ObjectReader below ``base_url``; ``headers`` go with every request (e.g. a bearer token)."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        base_url: str,
        headers: Mapping[str, str] | None = None,
        manners: Manners = REPOSITORY,
    ) -> None:
        self.capabilities = Capabilities(writable=False, listable=False)
        self._folder = HttpFolder(session, base_url, headers, manners)

    async def stat(self, key: str) -> ObjectInfo:
        async with self._request("HEAD", key) as response:
            if response.content_length is not None:
                return ObjectInfo(key, response.content_length, 0.0)
        size = 0
        async for piece in self.stream(key):  # the reference announces no length for objects
            size += len(piece)
        return ObjectInfo(key, size, 0.0)

    async def read(self, key: str, *, size_max: int = BLOCK_BYTES_MAX) -> bytes:
        return await joined(key, self.stream(key), size_max=size_max)

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        window = byte_range or ByteRange(0)
        position, resumes = window.start, 0
        while True:
            try:
                async for piece in self._stream_once(key, ByteRange(position, window.end)):
                    yield piece
                    position += len(piece)
                    resumes = 0
                return
            except TransientStorageError:
                resumes += 1
                if position == window.start or resumes > HTTP_RESUMES_MAX:
                    raise

    async def follow(self, key: str, next_key: Callable[[bytes], str | None], *, count_max: int) -> Followed:
        return await followed(self.read, key, next_key, count_max=count_max)

    async def list(self, prefix: str = "") -> AsyncIterator[ObjectInfo]:
        raise UnsupportedOperation("a repository behind plain HTTP cannot be listed")
        yield  # makes this a generator, as the contract has it

    def local_path(self, key: str) -> Path | None:
        split_key(key)
        return None

    async def _stream_once(self, key: str, window: ByteRange) -> AsyncIterator[bytes]:
        if window.end is not None and window.end <= window.start:
            return
        async with self._request("GET", key, _range_header(window)) as response:
            if response.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                return
            # A server without ranges answers 200 with everything: what is not wanted is passed over.
            passed_over = 0 if response.status == HTTPStatus.PARTIAL_CONTENT else window.start
            wanted = None if window.end is None else window.end - window.start
            async for piece in _cut(response.content.iter_chunked(READ_CHUNK_BYTES), passed_over, wanted):
                yield piece

    def _request(
        self, method: str, key: str, headers: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        split_key(key)
        return self._folder.request(method, key, headers)


def _range_header(window: ByteRange) -> dict[str, str]:
    if window.start == 0 and window.end is None:
        return {}
    return {"Range": f"bytes={window.start}-{'' if window.end is None else window.end - 1}"}


async def _cut(pieces: AsyncIterator[bytes], passed_over: int, wanted: int | None) -> AsyncIterator[bytes]:
    async for whole in pieces:
        piece = whole[passed_over:]
        passed_over = max(0, passed_over - len(whole))
        if wanted is not None:
            piece = piece[:wanted]
            wanted -= len(piece)
        if piece:
            yield piece
        if wanted == 0:
            return
