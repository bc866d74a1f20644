"""What carries the text of a conversation: aiohttp sockets of either side, and a pair in memory.

One JSON text per message. No pings are ever sent: the reference takes them for messages. A message longer than a frame
may be goes out in fragments, which aiohttp reads but cannot write; that is done here over its writer.
"""

from __future__ import annotations

import asyncio
import os
import struct
from typing import Any, Final, Protocol

import aiohttp
from aiohttp import WSMsgType, web

from opendatafabric.errors import ProtocolViolation
from opendatafabric.limits import FRAME_BYTES_MAX

VERSION_HEADER: Final = "x-odf-smtp-version"
VERSION: Final = "1"
ENCODINGS_HEADER: Final = "x-odf-smtp-encodings"
"""Ours alone: which encodings of packs an end reads beyond ``raw``. Others pass it over."""

BASE64: Final = "base64"
_TEXT: Final = 0x1
_CONTINUATION: Final = 0x0
_FINAL: Final = 0x80
_MASKED: Final = 0x80
_ABNORMAL: Final = 1006


class ChannelClosed(Exception):  # noqa: N818  it may be the regular end
    """The peer ended the conversation."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"closed with {code} {reason}".strip())
        self.code = code
        self.reason = reason


class Channel(Protocol):
    """Texts in order. ``peer_reads_base64`` says that the peer takes packs as base64."""

    peer_reads_base64: bool

    async def receive(self) -> str:
        """The next text; ``ChannelClosed`` at the end, ``ProtocolViolation`` for anything but text."""
        ...

    async def send(self, text: str) -> None:
        """Put a text on its way; ``ChannelClosed`` when nobody listens any more."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """End the conversation; does nothing when it has ended."""
        ...


def reads_base64(header: str | None) -> bool:
    """Whether the value of ``ENCODINGS_HEADER`` names base64."""
    return BASE64 in {item.strip() for item in (header or "").lower().split(",")}


class SocketChannel:
    """Over a WebSocket of aiohttp, of either side."""

    def __init__(
        self, socket: web.WebSocketResponse | aiohttp.ClientWebSocketResponse, *, peer_reads_base64: bool = False
    ) -> None:
        self.socket = socket
        self.peer_reads_base64 = peer_reads_base64

    async def receive(self) -> str:
        message = await self.socket.receive()
        if message.type is WSMsgType.TEXT:
            text: str = message.data
            return text
        if message.type is WSMsgType.BINARY:
            raise ProtocolViolation("a binary message came", expected="text")
        if message.type is WSMsgType.CLOSE:
            raise ChannelClosed(int(message.data or _ABNORMAL), message.extra or "")
        raise ChannelClosed(int(self.socket.close_code or _ABNORMAL), _error_text(message))

    async def send(self, text: str) -> None:
        if self.socket.closed:
            raise ChannelClosed(int(self.socket.close_code or _ABNORMAL), "")
        data = text.encode()
        try:
            if len(data) <= FRAME_BYTES_MAX:
                await self.socket.send_str(text)
            else:
                await _send_fragments(self.socket, data)
        except (ConnectionError, aiohttp.ClientError, RuntimeError) as error:
            raise ChannelClosed(_ABNORMAL, str(error)) from error

    async def close(self, code: int, reason: str) -> None:
        await self.socket.close(code=code, message=reason.encode())


def _error_text(message: aiohttp.WSMessage) -> str:
    return str(message.data) if message.type is WSMsgType.ERROR else ""


async def _send_fragments(socket: Any, data: bytes) -> None:
    writer = socket._writer
    starts = range(0, len(data), FRAME_BYTES_MAX)
    for start in starts:
        opcode = _TEXT if start == 0 else _CONTINUATION
        final = _FINAL if start == starts[-1] else 0
        writer.transport.write(frame(data[start : start + FRAME_BYTES_MAX], final | opcode, masked=writer.use_mask))
        await writer.protocol._drain_helper()


def frame(payload: bytes, first_byte: int, *, masked: bool) -> bytes:
    """One frame (RFC 6455, 5.2)."""
    length = len(payload)
    bit = _MASKED if masked else 0
    if length < 126:
        header = struct.pack("!BB", first_byte, bit | length)
    elif length < 2**16:
        header = struct.pack("!BBH", first_byte, bit | 126, length)
    else:
        header = struct.pack("!BBQ", first_byte, bit | 127, length)
    if not masked:
        return header + payload
    key = os.urandom(4)
    return header + key + _mask(key, payload)


def _mask(key: bytes, payload: bytes) -> bytes:
    repeated = key * (len(payload) // 4 + 1)
    mixed = int.from_bytes(payload, "big") ^ int.from_bytes(repeated[: len(payload)], "big")
    return mixed.to_bytes(len(payload), "big")


class MemoryChannel:
    """One end of a pair; what one sends, the other receives."""

    def __init__(self, incoming: asyncio.Queue[Any], outgoing: asyncio.Queue[Any], *, peer_reads_base64: bool) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._closed: ChannelClosed | None = None
        self.peer_reads_base64 = peer_reads_base64

    async def receive(self) -> str:
        if self._closed is not None:
            raise self._closed
        item = await self._incoming.get()
        if isinstance(item, ChannelClosed):
            self._closed = item
            raise item
        text: str = item
        return text

    async def send(self, text: str) -> None:
        if self._closed is not None:
            raise self._closed
        self._outgoing.put_nowait(text)

    async def close(self, code: int, reason: str) -> None:
        if self._closed is None:
            self._closed = ChannelClosed(code, reason)
            self._outgoing.put_nowait(self._closed)


def memory_pair(*, base64: bool = False) -> tuple[MemoryChannel, MemoryChannel]:
    """Two connected channels."""
    here: asyncio.Queue[Any] = asyncio.Queue()
    there: asyncio.Queue[Any] = asyncio.Queue()
    return (
        MemoryChannel(here, there, peer_reads_base64=base64),
        MemoryChannel(there, here, peer_reads_base64=base64),
    )
