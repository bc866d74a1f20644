"""A node that answers what a test tells it to, so that what Kubo does and js-ipfs does not can be tested too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

from storage.ipfs.rpc import KuboRpc, Patience

IMPATIENT = Patience(connect_s=1, silence_s=0.5, work_s=0.5)


@dataclass
class ScriptedNode:
    """``answers`` by command: status and body."""

    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    requests: list[web.Request] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def application(self) -> web.Application:
        application = web.Application(client_max_size=1 << 26)
        application.router.add_route("*", "/api/v0/{command:.*}", self.answer)
        return application

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append(request)
        self.bodies.append(await request.read())
        status, body = self.answers.get(request.match_info["command"], (404, b"404 page not found"))
        headers = {"Location": "http://127.0.0.1:1/elsewhere"} if 300 <= status < 400 else {}
        return web.Response(status=status, body=body, headers=headers)


@asynccontextmanager
async def scripted(node: ScriptedNode, *, token: str | None = None) -> AsyncIterator[KuboRpc]:
    """The RPC of that node, over a socket."""
    async with TestServer(node.application()) as server, aiohttp.ClientSession() as session:
        yield KuboRpc(session, f"kubo+{server.make_url('')}", token=token, patience=IMPATIENT)


@asynccontextmanager
async def speaking(raw: bytes, *, reads: bool = True, closes: bool = True) -> AsyncIterator[KuboRpc]:
    """The RPC of something that sends ``raw`` to whoever connects; a silent one that even reads nothing, if wanted."""
    done = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if reads:
            await reader.readuntil(b"\r\n\r\n")
        writer.write(raw)
        await writer.drain()
        if not closes:
            await done.wait()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, limit=1 << 16)
    try:
        host, port = server.sockets[0].getsockname()
        async with aiohttp.ClientSession() as session:
            yield KuboRpc(session, f"kubo+http://{host}:{port}", patience=IMPATIENT)
    finally:
        done.set()
        server.close()
