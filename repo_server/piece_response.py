"""Bodies whose pieces are made on the way: sent at the pace of the reader, cut off visibly when they break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from aiohttp import web

from opendatafabric.errors import OdfError
from repo_server.logs import SERVER
from repo_server.services import SERVICES


async def send_pieces(
    request: web.Request, pieces: AsyncIterator[bytes], headers: Mapping[str, str], *, size: int | None = None
) -> web.StreamResponse:
    """All ``pieces`` as one body of ``size`` bytes, or chunked where that is not known; none for ``HEAD``."""
    response = web.StreamResponse(headers=headers)
    if size is None:
        response.enable_chunked_encoding()
    response.content_length = size
    await response.prepare(request)
    if request.method != "HEAD":
        await write_all(request, response, pieces)
    await response.write_eof()
    return response


async def write_all(request: web.Request, response: web.StreamResponse, pieces: AsyncIterator[bytes]) -> None:
    """Send ``pieces`` after headers that are on their way, each in the time that the slowest reader may take."""
    settings = request.app[SERVICES].settings
    try:
        async for piece in pieces:
            async with asyncio.timeout(settings.stall_s + len(piece) / settings.body_bytes_per_s_min):
                await response.write(piece)
    except (OdfError, TimeoutError) as error:
        # The status is sent already: only a body that ends too early can say that something is wrong.
        SERVER.warning("a body was cut off: %s", error)
        if request.transport is not None:
            request.transport.abort()
        raise ConnectionResetError("the body was cut off") from None
