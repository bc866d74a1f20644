"""A client's session whose server is an object in the same process: requests and conversations without a socket.

Does as much of ``aiohttp.ClientSession`` as transfers use; a body shorter than it announces breaks off as there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import aiohttp
from aiohttp import WSMsgType
from multidict import CIMultiDict
from yarl import URL

from sync.smart.channels import ENCODINGS_HEADER, ChannelClosed, MemoryChannel, memory_pair
from tests.sync.smart_server import Asked, SmartServer


class _Content:
    def __init__(self, body: bytes, announced: int) -> None:
        self._body, self._announced = body, announced

    async def read(self, size: int = -1) -> bytes:
        size = len(self._body) if size < 0 else size
        piece, self._body = self._body[:size], self._body[size:]
        self._announced -= len(piece)
        if not piece and self._announced > 0:
            raise aiohttp.ClientPayloadError("not all that was announced has come")
        return piece

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        while piece := await self.read(size):
            yield piece


@dataclass
class _Response:
    status: int
    headers: Mapping[str, str]
    content: _Content
    content_length: int

    @property
    def ok(self) -> bool:
        return self.status < 400

    async def read(self) -> bytes:
        return await self.content.read()


class _Socket:
    """The client's end of a conversation, as ``ClientWebSocketResponse`` shows it."""

    def __init__(self, channel: MemoryChannel, headers: Mapping[str, str]) -> None:
        self._channel = channel
        self._response = SimpleNamespace(headers=headers)
        self.closed = False
        self.close_code: int | None = None

    async def receive(self) -> aiohttp.WSMessage:
        try:
            return aiohttp.WSMessage(WSMsgType.TEXT, await self._channel.receive(), None)
        except ChannelClosed as closed:
            self.closed, self.close_code = True, closed.code
            return aiohttp.WSMessage(WSMsgType.CLOSE, closed.code, closed.reason)

    async def send_str(self, text: str) -> None:
        await self._channel.send(text)

    async def close(self, *, code: int = 1000, message: bytes = b"") -> None:
        self.closed = True
        await self._channel.close(code, message.decode())


@dataclass
class MemorySession:
    """Every address leads to ``server``."""

    server: SmartServer
    watched: list[tuple[str, str, str | None]] = field(default_factory=list)
    _conversations: list[asyncio.Task[None]] = field(default_factory=list)

    @asynccontextmanager
    async def request(
        self, method: str, url: str | URL, *, data: Any = None, headers: Mapping[str, str] | None = None, **_: Any
    ) -> AsyncIterator[_Response]:
        asked = self._asked(method, url, headers)
        if data is not None:
            asked.body = b"".join([piece async for piece in data])
        answer = await self.server.answer(asked)
        body = answer.body if isinstance(answer.body, bytes) else b""
        announced = int(answer.headers.get("Content-Length", len(body)))
        yield _Response(
            answer.status, answer.headers, _Content(b"" if method == "HEAD" else body, announced), announced
        )

    async def ws_connect(self, url: str, *, headers: Mapping[str, str], **_: Any) -> _Socket:
        asked = self._asked("GET", url, headers)
        here, there = memory_pair(base64=self.server.reads_base64(asked.headers))
        self._conversations.append(asyncio.create_task(self._converse(asked.key, there)))
        return _Socket(here, {ENCODINGS_HEADER: "base64"} if self.server.base64 else {})

    async def close(self) -> None:
        for task in self._conversations:
            task.cancel()
        await asyncio.gather(*self._conversations, return_exceptions=True)

    async def _converse(self, verb: str, channel: MemoryChannel) -> None:
        await self.server.converse(verb, channel)
        await channel.close(1000, "")

    def _asked(self, method: str, url: str | URL, headers: Mapping[str, str] | None) -> Asked:
        where = URL(url)
        asked = Asked(method, where.path, dict(where.query), CIMultiDict(headers or {}))
        self.watched.append((method, asked.key, asked.headers.get("Range")))
        return asked
