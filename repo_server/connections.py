"""Open connections, counted: beyond the maxima, in all and per address, a new one is closed before a byte is read."""

from __future__ import annotations

import asyncio
from collections import Counter
from http import HTTPStatus
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import LineTooLong
from aiohttp.web_protocol import RequestHandler

from opendatafabric.server_limits import HEADER_BYTES_MAX
from repo_server.config import Settings


class PlainSpoken(RequestHandler):
    """One connection. What is no HTTP is refused without a word of what was sent, which may hold a secret."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = HTTPStatus.INTERNAL_SERVER_ERROR,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """As the base where we are to blame."""
        if status != HTTPStatus.BAD_REQUEST or request.writer.output_size > 0:
            return super().handle_error(request, status, exc, message)
        refused = web.Response(text="The request is no HTTP/1.1", status=status)
        if isinstance(exc, LineTooLong):
            refused = web.Response(
                text=f"The request line or a header is longer than {HEADER_BYTES_MAX} bytes",
                status=HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            )
        refused.force_close()
        return refused


class CountingServer(web.Server):
    """aiohttp's server, with a count of its connections."""

    def __init__(self, server: web.Server, settings: Settings, **arguments: Any) -> None:
        super().__init__(server.request_handler, request_factory=server.request_factory, **arguments)
        self._settings = settings
        self._addresses: dict[RequestHandler, str] = {}
        self._per_address: Counter[str] = Counter()

    def __call__(self) -> RequestHandler:
        return PlainSpoken(self, loop=self._loop, **self._kwargs)

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else ""
        self._addresses[handler] = address
        self._per_address[address] += 1
        if (
            len(self._addresses) > self._settings.connections_max
            or self._per_address[address] > self._settings.connections_per_address_max
        ):
            transport.abort()

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        address = self._addresses.pop(handler, None)
        if address is not None:
            self._per_address[address] -= 1
            if not self._per_address[address]:
                del self._per_address[address]


class CountingRunner(web.AppRunner):
    """An application behind a ``CountingServer``."""

    def __init__(self, app: web.Application, settings: Settings, **arguments: Any) -> None:
        super().__init__(app, **arguments)
        self._settings = settings

    async def _make_server(self) -> web.Server:
        return CountingServer(await super()._make_server(), self._settings, **self._kwargs)
