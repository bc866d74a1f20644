"""Taking in request bodies from clients that may be slow, silent, wrong or gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus

from aiohttp import web

from repo_server.gate import Refused
from repo_server.problems import message, plain


def announced_length(request: web.Request, size_max: int) -> int:
    """The length of the body, which must be announced and bounded.

    Raises:
        Refused: no length, an encoded body, or more than ``size_max``.
    """
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Refused(message("a body must be sent as it is, without Content-Encoding", HTTPStatus.UNSUPPORTED_MEDIA_TYPE))
    length = request.content_length
    if length is None:
        raise Refused(plain("Content-Length header is missing", HTTPStatus.BAD_REQUEST))
    if length > size_max:
        raise Refused(message(f"at most {size_max} bytes are taken", HTTPStatus.REQUEST_ENTITY_TOO_LARGE))
    return length


async def pieces_of(request: web.Request, stall_s: float) -> AsyncIterator[bytes]:
    """The body piece by piece.

    Raises:
        Refused: silence for longer than ``stall_s`` seconds.
    """
    while True:
        try:
            async with asyncio.timeout(stall_s):
                piece = await request.content.readany()
        except TimeoutError:
            raise Refused(message(f"no bytes came for {stall_s:g} seconds", HTTPStatus.REQUEST_TIMEOUT)) from None
        if not piece:
            return
        yield piece


async def drain(request: web.Request, stall_s: float) -> None:
    """Read the body and forget it."""
    async for _ in pieces_of(request, stall_s):
        pass
