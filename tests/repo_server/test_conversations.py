"""Conversations that do not go as they should: silence, nonsense, too many of them, a server that stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from socket import SHUT_RDWR

import aiohttp
import pytest

from repo_server.config import Tenancy
from repo_server.logs import REQUESTS
from tests.repo_server.hosted import Hosted, a_chain, hosted

pytestmark = pytest.mark.slow

SECOND_HEADER = {"x-odf-smtp-version": "1"}


@asynccontextmanager
async def talking(server: Hosted, verb: str = "pull") -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    url = f"{server.url}{server.path('open')}/{verb}"
    headers = {**SECOND_HEADER, **server.as_("alice")}
    async with asyncio.timeout(20), server.session.ws_connect(url, headers=headers) as socket:
        yield socket


@pytest.mark.parametrize("verb", ["pull", "push"])
async def test_a_silent_client_is_sent_away(tmp_path: Path, verb: str) -> None:
    async with hosted(tmp_path, Tenancy.SINGLE, pull_silence_s=0.1, push_silence_s=0.1) as server:
        await server.add("open", a_chain())
        async with talking(server, verb) as socket:
            message = await socket.receive()
            assert message.type in {aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED}


@pytest.mark.parametrize("verb", ["pull", "push"])
@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"current_head":1}', "[" * 100_000, '"x"'])
async def test_nonsense_ends_the_conversation_and_nothing_else(tmp_path: Path, verb: str, text: str) -> None:
    async with hosted(tmp_path, Tenancy.SINGLE) as server:
        chain = a_chain()
        await server.add("open", chain)
        async with talking(server, verb) as socket:
            await socket.send_str(text)
            while (await socket.receive()).type is aiohttp.WSMsgType.TEXT:
                pass
        assert (await server.ask("GET", "/open/refs/head")).text == str(chain.head)


@pytest.mark.parametrize("verb", ["pull", "push"])
async def test_a_binary_message_ends_the_conversation(tmp_path: Path, verb: str) -> None:
    async with hosted(tmp_path, Tenancy.SINGLE) as server:
        await server.add("open", a_chain())
        async with talking(server, verb) as socket:
            await socket.send_bytes(b"{}")
            while (await socket.receive()).type is aiohttp.WSMsgType.TEXT:
                pass
        assert (await server.ask("GET", "/system/health")).status == 200


@pytest.mark.parametrize("verb", ["pull", "push"])
async def test_one_conversation_too_many_is_told_to_come_back(tmp_path: Path, verb: str) -> None:
    async with hosted(tmp_path, Tenancy.SINGLE, pulls_at_once=1, pushes_at_once=1) as server:
        await server.add("open", a_chain())
        async with talking(server, verb):
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                async with talking(server, verb):
                    pass
            assert caught.value.status == 503
        async with asyncio.timeout(10):
            while (await server.ask("GET", "/system/ready")).status != 200:
                pass


async def test_a_stopping_server_ends_conversations_and_lets_go(tmp_path: Path) -> None:
    async with asyncio.timeout(20):
        async with hosted(tmp_path, Tenancy.SINGLE) as server:
            await server.add("open", a_chain())
            url = f"{server.url}/open/pull"
            client = aiohttp.ClientSession()
            socket = await client.ws_connect(url, headers=SECOND_HEADER)
            listening = asyncio.create_task(socket.receive())
        message = await listening
        assert message.type in {aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED}
        await client.close()


async def test_further_connections_of_one_address_are_closed_at_once(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.SINGLE, connections_per_address_max=2) as server:
        host, _, port = server.url.removeprefix("http://").partition(":")
        opened = [await asyncio.open_connection(host, int(port)) for _ in range(2)]
        reader, writer = await asyncio.open_connection(host, int(port))
        received = b""
        with suppress(ConnectionResetError):
            received = await asyncio.wait_for(reader.read(), 10)  # the end comes without a request having been sent
        assert received == b""
        for _, each in [*opened, (reader, writer)]:
            each.close()
        async with asyncio.timeout(10):
            assert (await server.ask("GET", "/system/health")).status == 200


class Lines(logging.Handler):
    """What is logged, as it comes."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: asyncio.Queue[str] = asyncio.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self.queue.put_nowait(record.getMessage())


async def test_a_client_that_vanishes_leaves_the_status_of_its_handshake_in_the_log(tmp_path: Path) -> None:
    lines = Lines()
    async with hosted(tmp_path, Tenancy.SINGLE) as server:
        await server.add("open", a_chain())
        REQUESTS.addHandler(lines)
        REQUESTS.setLevel(logging.INFO)
        try:
            async with talking(server) as socket:
                transport = socket.get_extra_info("socket")
                transport.shutdown(SHUT_RDWR)
                assert await lines.queue.get() == "GET /open/pull 101"
        finally:
            REQUESTS.removeHandler(lines)
            REQUESTS.setLevel(logging.NOTSET)
