"""Server-sent events (HTML, chapter 9.2): a state that is sent whenever it has changed, until it changes no more.

An event is the whole state, and its id follows from what it says: a client that comes back with ``Last-Event-ID`` is
sent nothing that it has, and misses nothing that still holds. What the states are about is not known here.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import orjson
from aiohttp import web

from opendatafabric.errors import OdfError
from repo_server.conversations import ANSWERED
from repo_server.logs import SERVER
from repo_server.services import Services

LOOK_EVERY_S: Final = 0.5
ALIVE_EVERY_S: Final = 15.0
"""Proxies and clients take a longer silence for a dead connection."""

STREAM_S_MAX: Final = 3_600.0
"""Then the client comes back, with whatever right it still has to."""

WAITING: Final = b": waiting\n\n"
_RETRY_MS: Final = 2_000


@dataclass(frozen=True, slots=True)
class StreamedState:
    """``is_last`` when no other state will follow."""

    plain: Mapping[str, Any]
    is_last: bool

    @property
    def id(self) -> str:
        """The same for the same state, whichever server tells it."""
        return hashlib.sha3_256(orjson.dumps(dict(self.plain), option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]

    def as_event(self) -> bytes:
        """In the form of the stream."""
        return b"id: %b\nevent: state\ndata: %b\n\n" % (self.id.encode(), orjson.dumps(dict(self.plain)))


async def send_states(
    request: web.Request, services: Services, read: Callable[[], Awaitable[StreamedState]]
) -> web.StreamResponse:
    """The states that ``read`` gives; 204, which ends the asking, for a client that knows the last one."""
    known = request.headers.get("Last-Event-ID")
    state = await read()
    if state.is_last and state.id == known:
        return web.Response(status=HTTPStatus.NO_CONTENT)
    async with stream_of(request) as response:
        await _send_until_last(response, services, read, known)
    return response


@asynccontextmanager
async def stream_of(request: web.Request) -> AsyncIterator[web.StreamResponse]:
    """An answer that goes on; what fails in it ends it."""
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )
    await response.prepare(request)
    request[ANSWERED] = response.status
    await response.write(b"retry: %d\n\n" % _RETRY_MS)
    try:
        yield response
    except OdfError as error:  # there is no status any more to say it with: the client asks again, and is told
        SERVER.info("a stream of events ended early: %s", error)


async def _send_until_last(
    response: web.StreamResponse,
    services: Services,
    read: Callable[[], Awaitable[StreamedState]],
    known: str | None,
) -> None:
    ends_at = time.monotonic() + STREAM_S_MAX
    silent_since = time.monotonic()
    while not services.stopping and time.monotonic() < ends_at:
        state = await read()
        if state.id != known:
            await response.write(state.as_event())
            known, silent_since = state.id, time.monotonic()
        elif time.monotonic() - silent_since > ALIVE_EVERY_S:
            await response.write(WAITING)
            silent_since = time.monotonic()
        if state.is_last:
            return
        await asyncio.sleep(LOOK_EVERY_S)
