"""Two ends of a real WebSocket, for tests of what travels over it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

from opendatafabric.limits import MESSAGE_BYTES_MAX

Handler = Callable[[web.WebSocketResponse], Awaitable[None]]


@asynccontextmanager
async def serving(application: web.Application) -> AsyncIterator[str]:
    """The address, ending in ``/``, under which ``application`` is served as in earnest."""
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def connected(
    handler: Handler, *, message_bytes_max: int = MESSAGE_BYTES_MAX
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A client socket whose other end ``handler`` holds; its errors come out here."""
    handled: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def handle(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=message_bytes_max, timeout=0.2)
        await socket.prepare(request)
        try:
            await handler(socket)
        except Exception as error:
            handled.set_exception(error)
        else:
            handled.set_result(None)
        return socket

    application = web.Application()
    application.router.add_get("/", handle)
    async with serving(application) as address, aiohttp.ClientSession() as session:
        async with session.ws_connect(address, max_msg_size=message_bytes_max, autoping=False) as socket:
            yield socket
        await asyncio.wait_for(handled, 60)
