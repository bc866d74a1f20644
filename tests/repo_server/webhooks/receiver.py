"""A web server that is told, and answers what the test wants; and what checks signatures as a receiver does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms

PATIENCE_S = 60
COVERED = ("@method", "@target-uri", "content-digest", "content-type")
Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Heard:
    """One message as it came."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        told: dict[str, Any] = orjson.loads(self.body)
        return told

    @property
    def kind(self) -> str:
        return str(self.event["type"]).rpartition(".")[2]


@dataclass
class Receiver:
    """``answers`` in turn: a status, or what makes the answer; then 204."""

    address: str = ""
    answers: list[int | Answering] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def hear(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        async with self.news:
            self.heard.append(Heard(request.method, str(request.url), dict(request.headers), body))
            self.news.notify_all()
        answer = self.answers.pop(0) if self.answers else 204
        return web.Response(status=answer) if isinstance(answer, int) else await answer(request)

    async def has_heard(self, count: int) -> list[Heard]:
        """What came, once there are so many."""
        async with asyncio.timeout(PATIENCE_S), self.news:
            await self.news.wait_for(lambda: len(self.heard) >= count)
        return self.heard


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """A receiver on a free port of this machine."""
    receiver, application = Receiver(), web.Application()
    application.router.add_post("/{path:.*}", receiver.hear)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        receiver.address = f"http://127.0.0.1:{runner.addresses[0][1]}/hooks/s3cr3t"
        yield receiver
    finally:
        await runner.cleanup()


class _OneKey(HTTPSignatureKeyResolver):
    def __init__(self, key: bytes) -> None:
        self.key = key

    def resolve_public_key(self, key_id: str) -> Any:
        return self.key

    def resolve_private_key(self, key_id: str) -> Any:
        raise NotImplementedError


def checked(heard: Heard, key: bytes | Any, *, tag: str, algorithm: Any = algorithms.ED25519) -> dict[str, Any]:
    """The parameters of the signature, checked by a library that is not ours; it raises for one that is wrong."""
    verifier = HTTPMessageVerifier(signature_algorithm=algorithm, key_resolver=_OneKey(key))
    (result,) = verifier.verify(heard, expect_tag=tag, require_components=COVERED, body=heard.body)
    return dict(result.parameters)
