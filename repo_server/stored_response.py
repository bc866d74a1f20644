"""Objects of stores that are not folders, over HTTP: the same answers as for files, sent piece by piece."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, cast

from aiohttp import web

from repo_server.object_response import headers_of, is_known, window_of
from repo_server.piece_response import write_all
from storage.protocols import ObjectReader
from storage.values import ByteRange


async def send_stored(
    request: web.Request,
    objects: ObjectReader,
    key: str,
    *,
    is_public: bool,
    headers: Mapping[str, str] | None = None,
) -> web.StreamResponse:
    """The object ``key``; ``headers`` replace the usual ones or come beside them.

    Raises:
        ObjectNotFound: it is not in the store.
    """
    name = key.rpartition("/")[2]
    sent = {**headers_of(name, is_public=is_public), **(headers or {})}
    size = (await objects.stat(key)).size
    if is_known(request, name):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=sent)
    window = window_of(request.headers, name, size)
    if window is None:
        sent["Content-Range"] = f"bytes */{size}"
        return web.Response(status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=sent)
    response = web.StreamResponse(headers=sent)
    if window.partial:
        response.set_status(HTTPStatus.PARTIAL_CONTENT)
        response.headers["Content-Range"] = window.content_range
    response.content_length = window.count
    if request.method == "HEAD" or not window.count:
        await response.prepare(request)
    else:
        await _send(request, response, objects.stream(key, ByteRange(window.start, window.start + window.count)))
    await response.write_eof()
    return response


async def _send(request: web.Request, response: web.StreamResponse, stream: AsyncIterator[bytes]) -> None:
    async with aclosing(cast(Any, stream)) as pieces:
        first = await anext(pieces, b"")  # what fails before it, fails with a status
        await response.prepare(request)
        await write_all(request, response, _after(first, pieces))


async def _after(first: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in pieces:
        yield piece
