"""Clients that are slow, silent or gone, wherever a server waits for one: closed in bounded time, and no trace."""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from socket import SO_LINGER, SO_RCVBUF, SOL_SOCKET, socket

import aiohttp
import pytest

from opendatafabric.multihash import physical_hash
from repo_server.config import Tenancy
from tests.repo_server.hosted import Hosted, a_chain, hosted

pytestmark = pytest.mark.slow

PATIENCE_S = 30
"""Within what time everything must have ended; the limits of the servers here are far below."""

HUGE = bytes(48 << 20)


@asynccontextmanager
async def impatient(folder: Path, **settings: float) -> AsyncIterator[Hosted]:
    """A server that waits for tenths of a second where others wait for many seconds."""
    quick = {"stall_s": 0.3, "idle_s": 0.3, "push_silence_s": 0.3, "pull_silence_s": 0.3, **settings}
    async with hosted(folder, Tenancy.SINGLE, **quick) as server:
        await server.add("open", a_chain())
        yield server


async def connected(server: Hosted) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = server.url.removeprefix("http://").partition(":")
    return await asyncio.open_connection(host, int(port))


async def everything(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the server closes."""
    received = b""
    async with asyncio.timeout(PATIENCE_S):
        with suppress(ConnectionResetError):
            while piece := await reader.read(65_536):
                received += piece
    return received


def reset(writer: asyncio.StreamWriter) -> None:
    """Vanish as a machine does whose cable was cut: no farewell, the kernel answers with a reset."""
    raw: socket = writer.get_extra_info("socket")
    raw.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def files_in(server: Hosted) -> set[Path]:
    return {path for path in server.repository.root.rglob("*") if ".catalog" not in path.name and path.is_file()}


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110  nobody tells when the kernel and the server have cleaned up
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("sent", [b"", b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
async def test_who_sends_no_whole_header_is_closed(tmp_path: Path, sent: bytes) -> None:
    async with impatient(tmp_path) as server:
        reader, writer = await connected(server)
        writer.write(sent)
        await everything(reader)
        writer.close()


async def test_who_sends_headers_byte_by_byte_is_closed_too(tmp_path: Path) -> None:
    async with impatient(tmp_path) as server:
        reader, writer = await connected(server)
        writer.write(b"GET /system/health HTTP/1.1\r\nHost: x\r\nX-Slow: ")

        async def drip() -> None:
            with suppress(ConnectionError):
                while not writer.is_closing():
                    writer.write(b"x")
                    await writer.drain()
                    await asyncio.sleep(0.05)

        dripping = asyncio.create_task(drip())
        await everything(reader)
        dripping.cancel()
        writer.close()


async def test_many_who_send_no_header_do_not_keep_others_waiting(tmp_path: Path) -> None:
    async with impatient(tmp_path, idle_s=60) as server:
        silent = [await connected(server) for _ in range(200)]
        for _, writer in silent:
            writer.write(b"GET / HTTP/1.1\r\nX-Slow: ")
        async with asyncio.timeout(60):
            assert (await server.ask("GET", "/open/refs/head")).status == 200
        for _, writer in silent:
            writer.close()


@pytest.mark.parametrize(
    ("method", "path", "extra"),
    [
        ("PUT", "/open/data/{hash}", ""),
        ("POST", "/platform/login", "Content-Type: application/json\r\n"),
    ],
)
async def test_a_body_that_stalls_is_answered_and_closed(tmp_path: Path, method: str, path: str, extra: str) -> None:
    async with impatient(tmp_path) as server:
        before = files_in(server)
        reader, writer = await connected(server)
        target = path.format(hash=physical_hash(b"never comes"))
        writer.write(
            f"{method} {target} HTTP/1.1\r\nHost: x\r\n{extra}Content-Length: 1000\r\n"
            f"Authorization: Bearer {server.tokens['alice']}\r\n\r\nabc".encode()
        )
        assert (await everything(reader)).startswith(b"HTTP/1.1 408 ")
        writer.close()
        assert files_in(server) == before


async def test_a_body_slower_than_the_minimum_rate_is_cut_off_although_it_never_stalls(tmp_path: Path) -> None:
    async with impatient(tmp_path, body_bytes_per_s_min=1_000_000) as server:
        before = files_in(server)
        reader, writer = await connected(server)
        writer.write(
            f"PUT /open/data/{physical_hash(b'x')} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n"
            f"Authorization: Bearer {server.tokens['alice']}\r\n\r\n".encode()
        )
        answer = asyncio.create_task(everything(reader))
        while not answer.done():
            writer.write(b"x")
            await asyncio.wait([answer], timeout=0.02)
        assert (await answer).startswith(b"HTTP/1.1 408 ")
        writer.close()
        assert files_in(server) == before


async def huge_object(server: Hosted) -> str:
    """The path of an object larger than all buffers between two ends."""
    entry = await server.repository.find(server.alias("open"))
    name = physical_hash(HUGE)
    await entry.dataset.writable_objects().put(f"data/{name}", HUGE)
    return f"/open/data/{name}"


async def begin_to_read(server: Hosted, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Ask for ``path``, take the first bytes and no more."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    raw = socket()
    raw.setsockopt(SOL_SOCKET, SO_RCVBUF, 4_096)
    raw.setblocking(False)
    await asyncio.get_running_loop().sock_connect(raw, (host, int(port)))
    reader, writer = await asyncio.open_connection(sock=raw, limit=1_024)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert (await reader.readexactly(15)) == b"HTTP/1.1 200 OK"
    return reader, writer


async def test_a_reader_slower_than_the_minimum_rate_is_cut_off(tmp_path: Path) -> None:
    async with impatient(tmp_path, body_bytes_per_s_min=1 << 30) as server:
        path = await huge_object(server)
        before = descriptors()
        reader, writer = await begin_to_read(server, path)
        await until(lambda: descriptors() <= before + 1)  # ours is still open, theirs and the file are not
        assert len(await everything(reader)) < len(HUGE)
        writer.close()


async def test_a_client_that_vanishes_in_a_download_leaves_no_descriptor(tmp_path: Path) -> None:
    async with impatient(tmp_path) as server:
        path = await huge_object(server)
        before = descriptors()
        for _ in range(5):
            _, writer = await begin_to_read(server, path)
            reset(writer)
        await until(lambda: descriptors() <= before)
        assert (await server.ask("HEAD", path)).headers["Content-Length"] == str(len(HUGE))


async def test_a_client_that_vanishes_in_an_upload_leaves_no_file_and_no_descriptor(tmp_path: Path) -> None:
    async with impatient(tmp_path, stall_s=60) as server:
        await server.ask("GET", "/system/health")
        files, before = files_in(server), descriptors()
        for _ in range(5):
            _, writer = await connected(server)
            writer.write(
                f"PUT /open/data/{physical_hash(HUGE)} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(HUGE)}\r\n"
                f"Authorization: Bearer {server.tokens['alice']}\r\n\r\n".encode()
                + bytes(1 << 20)
            )
            await writer.drain()
            await until(lambda: files_in(server) != files)
            reset(writer)
            await until(lambda: files_in(server) == files)
        await until(lambda: descriptors() <= before)


@pytest.mark.parametrize("verb", ["pull", "push"])
async def test_a_client_that_vanishes_in_a_conversation_frees_its_place(tmp_path: Path, verb: str) -> None:
    async with impatient(tmp_path, pulls_at_once=1, pushes_at_once=1, push_silence_s=60, pull_silence_s=60) as server:
        headers = {"x-odf-smtp-version": "1", **server.as_("alice")}
        await server.ask("GET", "/open/refs/head", who="alice")
        before = descriptors()
        for _ in range(3):
            async with asyncio.timeout(PATIENCE_S), aiohttp.ClientSession() as session:
                talk = await session.ws_connect(f"{server.url}/open/{verb}", headers=headers)
                raw = talk.get_extra_info("socket")
                raw.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
                talk._response.connection.transport.abort()  # type: ignore[union-attr]
            await until(lambda: descriptors() <= before)
        async with asyncio.timeout(PATIENCE_S):
            while not await free_place(server, verb, headers):
                pass


async def free_place(server: Hosted, verb: str, headers: dict[str, str]) -> bool:
    try:
        async with server.session.ws_connect(f"{server.url}/open/{verb}", headers=headers):
            return True
    except aiohttp.WSServerHandshakeError:
        return False
