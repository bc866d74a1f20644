"""Brokers that break the rules, or break off: a typed error, and nothing without bounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from opendatafabric.errors import (
    AccessDenied,
    LimitExceeded,
    MalformedManifest,
    OdfError,
    PeerUnavailable,
    ProtocolViolation,
)
from opendatafabric.metadata.sources import MqttTopicSubscription
from pipeline.fetch import mqtt_session
from pipeline.fetch.mqtt_session import Login, Message, MqttSession

WELCOME, GRANTED = b"\x20\x02\x00\x00", b"\x90\x03\x00\x01\x01"
TOPICS = [MqttTopicSubscription("t")]


@pytest.fixture
def said() -> bytearray:
    """What the broker says, whatever it hears."""
    return bytearray()


@pytest.fixture
async def heard() -> asyncio.Future[bytes]:
    """What it was told."""
    return asyncio.get_running_loop().create_future()


@pytest.fixture
async def session(said: bytearray, heard: asyncio.Future[bytes]) -> AsyncIterator[MqttSession]:
    """With a broker that says all it has to at the first byte."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readexactly(1)
        writer.write(bytes(said))
        writer.write_eof()
        heard.set_result(first + await reader.read())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    found = MqttSession(*await asyncio.open_connection(*server.sockets[0].getsockname()))
    yield found
    await found.close()
    server.close()


async def talk(session: MqttSession) -> list[Message]:
    """Everything up to the first silence."""
    await session.log_in(Login("me", "user", "secret"))
    await session.subscribe(TOPICS)
    messages = []
    while (message := await session.next(idle_s=0.05)) is not None:
        messages.append(message)
    return messages


@pytest.mark.parametrize(
    ("words", "family"),
    [
        (b"", PeerUnavailable),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n" + b" " * 100, ProtocolViolation),
        (b"\x20\x02\x00\x05", AccessDenied),
        (b"\x20\x02\x00\x03", PeerUnavailable),
        (WELCOME, PeerUnavailable),
        (WELCOME + b"\x90\x03\x00\x01\x80", AccessDenied),
        (WELCOME + b"\x90\x02\x00\x01", AccessDenied),
        (WELCOME + GRANTED + b"\x30\xff\xff\xff\xff", LimitExceeded),
        (WELCOME + GRANTED + b"\x30\x05\x00\x01tx", PeerUnavailable),
        (WELCOME + GRANTED + b"\x30\x02\x00\x09", ProtocolViolation),
        (WELCOME + GRANTED + b"\x36\x05\x00\x01t\x00\x01", ProtocolViolation),
        (WELCOME + b"\x30\x03\x00\x01t" * 2_000, ProtocolViolation),
    ],
)
async def test_what_breaks_the_rules_is_told_by_its_family(
    session: MqttSession, said: bytearray, words: bytes, family: type[OdfError]
) -> None:
    said += words
    with pytest.raises(family) as caught:
        await talk(session)
    assert "secret" not in str(caught.value.as_dict())


async def test_messages_may_come_before_the_answer_to_the_subscription(session: MqttSession, said: bytearray) -> None:
    said += WELCOME + b"\x30\x04\x00\x01tx" + GRANTED + b"\x33\x06\x00\x01t\x00\x07y"
    await session.log_in(Login("me"))
    await session.subscribe(TOPICS)
    found = [await session.next(idle_s=1), await session.next(idle_s=1)]
    assert found == [Message(b"t", b"x", 0, False, 0), Message(b"t", b"y", 1, True, 7)]


async def test_exactly_once_ends_with_the_release_that_the_broker_sends(
    session: MqttSession, said: bytearray, heard: asyncio.Future[bytes]
) -> None:
    said += WELCOME + GRANTED + b"\x34\x06\x00\x01t\x00\x07y" + b"\x62\x02\x00\x07"
    await session.log_in(Login("me"))
    await session.subscribe(TOPICS)
    message = await session.next(idle_s=1)
    assert message is not None
    await session.settle([message])
    await session.close()
    assert (await heard).endswith(b"t\x00" + b"\x50\x02\x00\x07" + b"\x70\x02\x00\x07" + b"\xe0\x00")


async def test_a_release_of_a_connection_before_is_answered(
    session: MqttSession, said: bytearray, heard: asyncio.Future[bytes]
) -> None:
    said += b"\x20\x02\x01\x00" + b"\x62\x02\x00\x09" + GRANTED
    await session.log_in(Login("me"))
    await session.subscribe(TOPICS)
    assert session.resumed
    await session.close()
    assert b"\x70\x02\x00\x09" in await heard


async def test_a_broker_that_falls_silent_is_left(
    session: MqttSession, said: bytearray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt_session, "FETCH_SILENCE_S_MAX", 0)
    with pytest.raises(PeerUnavailable, match="silent"):
        await session.log_in(Login("me"))


async def test_a_text_too_long_for_the_protocol_is_refused(session: MqttSession) -> None:
    with pytest.raises(MalformedManifest):
        await session.log_in(Login("x" * 70_000))
