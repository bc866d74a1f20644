"""Bodies on their way: of what length and form they may be, and how slow a peer may get before it is cut off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from http import HTTPStatus

import orjson
from aiohttp import web

from repo_server.config import Settings
from repo_server.problems import Refused, json_error, text_error

JSON_BYTES_MAX = 64 * 1024
"""Largest JSON body: a login."""


class Pace:
    """How long a peer may still let us wait: ``stall_s`` at a time, and an average rate over all waiting."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._waited = 0.0

    def allowance(self, size_so_far: int) -> float:
        """Seconds that the next wait may take."""
        earned = self._settings.stall_s + size_so_far / self._settings.body_bytes_per_s_min
        return max(0.0, min(self._settings.stall_s, earned - self._waited))

    def count(self, seconds: float) -> None:
        self._waited += seconds


def announced_size(request: web.Request, *, size_max: int) -> int:
    """The ``Content-Length`` of a body that is taken as it is.

    Raises:
        Refused: none (400), an encoded body (415), more than ``size_max`` (413).
    """
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise Refused(text_error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Encoding is not taken"))
    if request.content_length is None or "chunked" in request.headers.get("Transfer-Encoding", "").lower():
        raise Refused(text_error(HTTPStatus.BAD_REQUEST, "Content-Length header is required"))
    if request.content_length > size_max:
        answer = json_error(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"at most {size_max} bytes are taken, {request.content_length} were announced",
            code="limit-exceeded",
        )
        raise Refused(closing(answer))
    return request.content_length


async def body_pieces(request: web.Request, settings: Settings) -> AsyncIterator[bytes]:
    """The body as it comes.

    Raises:
        Refused: the peer is slower than the settings allow (408); the connection ends.
    """
    pace, size = Pace(settings), 0
    loop = asyncio.get_running_loop()
    while True:
        before = loop.time()
        try:
            async with asyncio.timeout(pace.allowance(size)):
                piece = await request.content.readany()
        except TimeoutError:
            answer = json_error(HTTPStatus.REQUEST_TIMEOUT, "the body came too slowly", code="too-slow")
            raise Refused(closing(answer)) from None
        pace.count(loop.time() - before)
        if not piece:
            return
        size += len(piece)
        yield piece


async def drained(request: web.Request, settings: Settings) -> int:
    """Read the body and forget it; its size."""
    size = 0
    async for piece in body_pieces(request, settings):
        size += len(piece)
    return size


async def json_object(request: web.Request, settings: Settings) -> dict[str, object]:
    """A small JSON object.

    Raises:
        Refused: another media type (415), too long (413), no JSON (400), no object (422).
    """
    if request.content_type != "application/json":
        raise Refused(text_error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Expected request with `Content-Type: application/json`"))
    body = b""
    async for piece in body_pieces(request, settings):
        body += piece
        if len(body) > JSON_BYTES_MAX:
            raise Refused(closing(text_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body is too long")))
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Refused(text_error(HTTPStatus.BAD_REQUEST, "Failed to parse the request body as JSON")) from None
    if not isinstance(value, dict):
        raise Refused(text_error(HTTPStatus.UNPROCESSABLE_ENTITY, "expected a JSON object"))
    return value


def closing(answer: web.Response) -> web.Response:
    """An answer after which the connection ends, because the rest of the body is not wanted."""
    answer.force_close()
    return answer
