"""The subscriber's side of MQTT 3.1.1 (OASIS), over one connection.

What sets it apart from the clients that packages offer: a message is acknowledged when its records are committed, of
either quality of service, and not before. Until then the broker keeps it, and sends it again to whoever comes next
under the same name.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from opendatafabric.errors import AccessDenied, LimitExceeded, MalformedManifest, PeerUnavailable, ProtocolViolation
from opendatafabric.metadata.sources import MqttQos, MqttTopicSubscription
from opendatafabric.source_limits import FETCH_SILENCE_S_MAX, MQTT_MESSAGE_BYTES_MAX

_CONNECT, _CONNACK, _PUBLISH, _PUBACK, _PUBREC, _PUBREL, _PUBCOMP, _SUBSCRIBE, _SUBACK = range(1, 10)
_DISCONNECT: Final = 14
_LEVEL_3_1_1: Final = 4
_USER, _PASSWORD = 0x80, 0x40
_NOT_ALLOWED: Final = {4, 5}
_REFUSED: Final = 0x80
_THE_ONE_REQUEST: Final = 1
_LENGTH_BYTES_MAX: Final = 4
_EARLY_MAX: Final = 1_000
"""Messages of a session that may come before the answer to a subscription: brokers have some dozens under way."""


@dataclass(frozen=True, slots=True)
class Login:
    """``name`` is what the broker keeps a session under."""

    name: str
    user: str | None = None
    password: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """``number`` is the broker's, for qualities of service above 0; ``retained`` says that it is an old one."""

    topic: bytes
    payload: bytes
    qos: int
    retained: bool
    number: int


class MqttSession:
    """One connection of a session that outlives it; ``resumed`` once the broker said that it knew the session."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._early: deque[Message] = deque()
        self.resumed = False

    async def log_in(self, login: Login) -> None:
        """Begin, or go on with the session of that name.

        Raises:
            AccessDenied: the broker does not let us in.
            PeerUnavailable: it cannot serve us now.
        """
        flags = (_USER if login.user is not None else 0) | (_PASSWORD if login.password is not None else 0)
        given = [login.name, *(text for text in (login.user, login.password) if text is not None)]
        head = _text("MQTT") + struct.pack("!BBH", _LEVEL_3_1_1, flags, 0)
        await self._send(_CONNECT << 4, head + b"".join(map(_text, given)))
        kind, body = await self._receive()
        if kind >> 4 != _CONNACK or len(body) != 2:
            raise ProtocolViolation("the broker does not speak MQTT 3.1.1")
        if body[1] in _NOT_ALLOWED:
            raise AccessDenied("the broker does not let us in", hint="username and password of the source")
        if body[1]:
            raise PeerUnavailable(f"the broker refuses the connection: {body[1]}")
        self.resumed = bool(body[0] & 1)

    async def subscribe(self, topics: Iterable[MqttTopicSubscription]) -> None:
        """Ask for messages.

        Raises:
            AccessDenied: the broker refuses a topic.
        """
        asked = list(topics)
        wanted = [_text(each.path) + bytes([(each.qos or MqttQos.AT_MOST_ONCE).value]) for each in asked]
        await self._send(_SUBSCRIBE << 4 | 2, struct.pack("!H", _THE_ONE_REQUEST) + b"".join(wanted))
        codes = await self._answer_to_subscribe()
        refused = [each.path for each, code in zip(asked, codes, strict=False) if code == _REFUSED]
        if refused or len(codes) != len(asked):
            raise AccessDenied("the broker refuses topics", found=", ".join(refused))

    async def next(self, *, idle_s: float) -> Message | None:
        """The next message; ``None`` when nothing comes for so long."""
        if self._early:
            return self._early.popleft()
        while (kind := await self._begin(idle_s)) is not None:
            body = await self._rest()
            if kind >> 4 == _PUBLISH:
                return _message(kind, body)
            await self._answer_release(kind, body)
        return None

    async def settle(self, messages: Iterable[Message]) -> None:
        """Tell the broker that it may forget them, and wait until it has."""
        unsettled = set()
        for message in messages:
            if message.qos:
                await self._send((_PUBACK if message.qos == 1 else _PUBREC) << 4, struct.pack("!H", message.number))
            if message.qos == 2:
                unsettled.add(message.number)
        while unsettled:
            kind, body = await self._receive()
            unsettled.discard(await self._answer_release(kind, body))

    async def close(self) -> None:
        """End the connection; the broker keeps the session."""
        try:
            await self._send(_DISCONNECT << 4, b"")
        except PeerUnavailable:
            pass
        finally:
            self._writer.close()

    async def _answer_to_subscribe(self) -> bytes:
        """Messages of the session may come before it."""
        while True:
            kind, body = await self._receive()
            if kind >> 4 == _SUBACK:
                return body[2:]
            if kind >> 4 == _PUBLISH:
                self._keep_early(_message(kind, body))
            else:
                await self._answer_release(kind, body)

    def _keep_early(self, message: Message) -> None:
        self._early.append(message)
        if sum(len(each.payload) for each in self._early) > MQTT_MESSAGE_BYTES_MAX or len(self._early) > _EARLY_MAX:
            raise ProtocolViolation("the broker sends messages without end before it answers")

    async def _answer_release(self, kind: int, body: bytes) -> int | None:
        """The last step of exactly once, for messages of this connection or of one that was cut."""
        if kind >> 4 != _PUBREL or len(body) != 2:
            return None
        await self._send(_PUBCOMP << 4, body)
        return int.from_bytes(body, "big")

    async def _send(self, kind: int, body: bytes) -> None:
        try:
            self._writer.write(bytes([kind]) + _length(len(body)) + body)
            async with asyncio.timeout(FETCH_SILENCE_S_MAX):
                await self._writer.drain()
        except (OSError, TimeoutError) as error:
            raise _gone(error) from None

    async def _receive(self) -> tuple[int, bytes]:
        kind = await self._begin(FETCH_SILENCE_S_MAX)
        if kind is None:
            raise PeerUnavailable("the broker is silent", expected=f"an answer within {FETCH_SILENCE_S_MAX} s")
        return kind, await self._rest()

    async def _begin(self, timeout_s: float) -> int | None:
        """The first byte of what the broker says; nothing is lost of one that comes later."""
        try:
            async with asyncio.timeout(timeout_s):
                return (await self._reader.readexactly(1))[0]
        except TimeoutError:
            return None
        except (OSError, EOFError) as error:
            raise _gone(error) from None

    async def _rest(self) -> bytes:
        try:
            async with asyncio.timeout(FETCH_SILENCE_S_MAX):
                return await self._reader.readexactly(await self._read_length())
        except (OSError, EOFError, TimeoutError) as error:
            raise _gone(error) from None

    async def _read_length(self) -> int:
        length = 0
        for index in range(_LENGTH_BYTES_MAX):
            byte = (await self._reader.readexactly(1))[0]
            length |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                break
        if length > MQTT_MESSAGE_BYTES_MAX:
            raise LimitExceeded("the broker sends too large a message", expected=f"at most {MQTT_MESSAGE_BYTES_MAX}")
        return length


def _gone(error: Exception) -> PeerUnavailable:
    return PeerUnavailable(f"the broker is gone: {type(error).__name__}")


def _message(kind: int, body: bytes) -> Message:
    qos = kind >> 1 & 3
    end = 2 + int.from_bytes(body[:2], "big")
    start = end + (2 if qos else 0)
    if qos == 3 or len(body) < start or len(body) < 2:
        raise ProtocolViolation("the broker sends what is no message")
    number = int.from_bytes(body[end:start], "big")
    return Message(body[2:end], body[start:], qos, bool(kind & 1), number)


def _text(text: str) -> bytes:
    data = text.encode(errors="surrogatepass")
    if len(data) > 0xFFFF:
        raise MalformedManifest("a text of the source is too long for MQTT", expected="at most 65535 bytes")
    return struct.pack("!H", len(data)) + data


def _length(length: int) -> bytes:
    data = bytearray()
    while length > 0x7F:
        data.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*data, length])
