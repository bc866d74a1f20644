"""Objects of stores that are not folders, over HTTP: the same answers as for files, sent piece by piece."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, cast

from aiohttp import web

from repo_server.object_response import headers_of, is_known, window_of
from repo_server.services import SERVICES
from storage.protocols import ObjectReader
from storage.values import ByteRange


async def send_stored(request: web.Request, objects: ObjectReader, key: str, *, is_public: bool) -> web.StreamResponse:
    """The object ``key``.

    Raises:
        ObjectNotFound: it is not in the store.
    """
    name = key.rpartition("/")[2]
    headers = headers_of(name, is_public=is_public)
    size = (await objects.stat(key)).size
    if is_known(request, name):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    window = window_of(request.headers, name, size)
    if window is None:
        headers["Content-Range"] = f"bytes */{size}"
        return web.Response(status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers=headers)
    response = web.StreamResponse(headers=headers)
    if window.partial:
        response.set_status(HTTPStatus.PARTIAL_CONTENT)
        response.headers["Content-Range"] = window.content_range
    response.content_length = window.count
    await response.prepare(request)
    if request.method != "HEAD" and window.count:
        await _send_pieces(request, response, objects, key, ByteRange(window.start, window.start + window.count))
    await response.write_eof()
    return response


async def _send_pieces(
    request: web.Request, response: web.StreamResponse, objects: ObjectReader, key: str, byte_range: ByteRange
) -> None:
    async with aclosing(cast(Any, objects.stream(key, byte_range))) as pieces:
        async for piece in pieces:
            await _send_piece(request, response, piece)


async def _send_piece(request: web.Request, response: web.StreamResponse, piece: bytes) -> None:
    """One piece, in the time that the slowest reader may take."""
    settings = request.app[SERVICES].settings
    try:
        async with asyncio.timeout(settings.stall_s + len(piece) / settings.body_bytes_per_s_min):
            await response.write(piece)
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
        raise ConnectionResetError("the client reads too slowly") from None
