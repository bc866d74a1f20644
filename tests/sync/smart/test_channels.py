"""Channels: texts in order, their end, and frames as the reference can read them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import WSMsgType, web
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import ProtocolViolation
from sync.smart import channels
from sync.smart.channels import Channel, ChannelClosed, SocketChannel, frame, memory_pair, reads_base64
from tests.sync.smart.sockets import connected


@asynccontextmanager
async def memory() -> AsyncIterator[tuple[Channel, Channel]]:
    yield memory_pair()


@asynccontextmanager
async def sockets() -> AsyncIterator[tuple[Channel, Channel]]:
    opened: asyncio.Future[Channel] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def handler(socket: web.WebSocketResponse) -> None:
        opened.set_result(SocketChannel(socket))
        await done.wait()

    async with connected(handler) as socket:
        try:
            yield SocketChannel(socket), await opened
        finally:
            done.set()


@pytest.mark.parametrize("pair", [memory, sockets])
class TestAnyChannel:
    async def test_texts_arrive_in_order(self, pair: type[AsyncIterator[None]]) -> None:
        async with pair() as (here, there):  # type: ignore[attr-defined]
            for text in ("a", "", "ü 🌍", "{}"):
                await here.send(text)
            assert [await there.receive() for _ in range(4)] == ["a", "", "ü 🌍", "{}"]

    async def test_both_directions_are_independent(self, pair: type[AsyncIterator[None]]) -> None:
        async with pair() as (here, there):  # type: ignore[attr-defined]
            await asyncio.gather(here.send("a"), there.send("b"))
            assert (await here.receive(), await there.receive()) == ("b", "a")

    async def test_the_end_is_told_with_its_reason(self, pair: type[AsyncIterator[None]]) -> None:
        async with pair() as (here, there):  # type: ignore[attr-defined]
            await here.send("last")
            closing = asyncio.create_task(here.close(1011, '{"Err":"why"}'))
            assert await there.receive() == "last"
            with pytest.raises(ChannelClosed) as closed:
                await there.receive()
            assert (closed.value.code, closed.value.reason) == (1011, '{"Err":"why"}')
            await closing

    async def test_after_the_end_nothing_can_be_said_or_heard(self, pair: type[AsyncIterator[None]]) -> None:
        async with pair() as (here, there):  # type: ignore[attr-defined]
            closing = asyncio.create_task(here.close(1000, ""))
            with pytest.raises(ChannelClosed):
                await there.receive()
            await closing
            for end in (here, there):
                with pytest.raises(ChannelClosed):
                    await end.send("a")
                with pytest.raises(ChannelClosed):
                    await end.receive()

    async def test_an_end_may_be_closed_twice(self, pair: type[AsyncIterator[None]]) -> None:
        async with pair() as (here, there):  # type: ignore[attr-defined]
            closing = asyncio.create_task(here.close(1000, "first"))
            with pytest.raises(ChannelClosed):
                await there.receive()
            await closing
            await here.close(1011, "second")
            await there.close(1011, "third")


async def test_a_long_message_of_the_server_travels_in_fragments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "FRAME_BYTES_MAX", 1_000)
    text = "ü🌍a" * 12_345

    async def handler(socket: web.WebSocketResponse) -> None:
        channel = SocketChannel(socket)
        await channel.send(text)
        await channel.send("after")

    async with connected(handler) as socket:
        assert (await socket.receive()).data == text
        assert (await socket.receive()).data == "after"


async def test_a_long_message_of_the_client_travels_in_masked_fragments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "FRAME_BYTES_MAX", 70_000)
    text = "ü🌍a" * 32_345
    received = []

    async def handler(socket: web.WebSocketResponse) -> None:
        received.extend([(await socket.receive()).data for _ in range(2)])

    async with connected(handler) as socket:
        channel = SocketChannel(socket)
        await channel.send(text)
        await channel.send("after")
    assert received == [text, "after"]


async def test_no_frame_is_longer_than_a_frame_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "FRAME_BYTES_MAX", 1_000)
    sizes: list[int] = []

    def counted(payload: bytes, first_byte: int, *, masked: bool) -> bytes:
        sizes.append(len(payload))
        return frame(payload, first_byte, masked=masked)

    monkeypatch.setattr(channels, "frame", counted)

    async def handler(socket: web.WebSocketResponse) -> None:
        await SocketChannel(socket).send("x" * 3_000)
        await SocketChannel(socket).send("x" * 1_000)

    async with connected(handler) as socket:
        assert len((await socket.receive()).data) == 3_000
        assert len((await socket.receive()).data) == 1_000
    assert sizes == [1_000, 1_000, 1_000]


@pytest.mark.parametrize("payload", [b"\0\xff", b"{}"])
async def test_a_binary_message_is_refused(payload: bytes) -> None:
    async def handler(socket: web.WebSocketResponse) -> None:
        with pytest.raises(ProtocolViolation, match="binary"):
            await SocketChannel(socket).receive()

    async with connected(handler) as socket:
        await socket.send_bytes(payload)


async def test_a_message_over_the_limit_ends_the_conversation() -> None:
    async def handler(socket: web.WebSocketResponse) -> None:
        with pytest.raises(ChannelClosed, match="exceeds limit 1000"):
            await SocketChannel(socket).receive()

    async with connected(handler, message_bytes_max=1_000) as socket:
        await socket.send_str("x" * 1_001)
        assert (await socket.receive()).type is WSMsgType.CLOSE


async def test_a_connection_that_breaks_is_an_end() -> None:
    async def handler(socket: web.WebSocketResponse) -> None:
        with pytest.raises(ChannelClosed):
            await SocketChannel(socket).receive()

    async with connected(handler) as socket:
        assert socket._response.connection is not None
        assert socket._response.connection.transport is not None
        socket._response.connection.transport.abort()


async def test_a_ping_of_the_peer_is_answered_and_no_message() -> None:
    async def handler(socket: web.WebSocketResponse) -> None:
        assert await SocketChannel(socket).receive() == "text"

    async with connected(handler) as socket:
        await socket.ping(b"there?")
        await socket.send_str("text")
        assert (await socket.receive()).type is WSMsgType.PONG


async def test_silence_is_never_filled_with_pings() -> None:
    async def handler(socket: web.WebSocketResponse) -> None:
        await SocketChannel(socket).send("only")
        await SocketChannel(socket).receive()

    async with connected(handler) as socket:
        assert (await socket.receive()).data == "only"
        with pytest.raises(TimeoutError):
            await socket.receive(timeout=0.05)
        await socket.send_str("done")


@given(st.binary(max_size=300) | st.integers(65_530, 65_540).map(bytes), st.booleans())
def test_a_frame_says_its_length_and_hides_its_payload_when_masked(payload: bytes, masked: bool) -> None:
    data = frame(payload, 0x81, masked=masked)
    length, at = data[1] & 0x7F, 2
    if length >= 126:
        at = 4 if length == 126 else 10
        length = int.from_bytes(data[2:at], "big")
    assert (data[0], data[1] >> 7, length) == (0x81, masked, len(payload))
    if masked:
        key, at = data[at : at + 4], at + 4
        assert bytes(byte ^ key[i % 4] for i, byte in enumerate(data[at:])) == payload
    else:
        assert data[at:] == payload


@pytest.mark.parametrize(
    ("header", "reads"),
    [(None, False), ("", False), ("raw", False), ("base64", True), ("raw, Base64", True), ("base64url", False)],
)
def test_a_peer_says_whether_it_reads_base64(header: str | None, reads: bool) -> None:
    assert reads_base64(header) is reads
