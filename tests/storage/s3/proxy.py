"""A proxy in front of a server of S3 that notes every request and strikes at those it is told to.

Signatures stay good: they say which host was asked, and that name is passed on. Strikes tell what a user meets: errors,
silence, connections that end, bodies cut short or spoiled, and answers that get lost after the deed was done.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from tests.storage.s3.servers import S3Server
from tests.sync.smart.sockets import serving

_OWN: Final = frozenset({"connection", "expect", "keep-alive", "transfer-encoding", "content-length", "date", "server"})
_BODY_BYTES_MAX: Final = 2**30
WRITES: Final = frozenset({"put", "swap", "copy", "begin", "part", "complete", "abort", "delete"})
"""Deeds that change what is stored."""


@dataclass(frozen=True)
class Asked:
    """A request as the store sees it; ``deed`` is what it comes to, ``path`` begins with the bucket."""

    deed: str
    path: str


@dataclass(frozen=True)
class Answer:
    """What the store said."""

    status: int
    headers: CIMultiDict[str]
    body: bytes


PassOn = Callable[[], Awaitable[Answer]]
Strike = Callable[[web.Request, PassOn], Awaitable[web.StreamResponse]]


@dataclass
class _Armed:
    strike: Strike
    wanted: Callable[[Asked], bool]
    skipped: int
    times: float


@dataclass
class S3Proxy:
    """What was asked is in ``asked``; ``address`` ends in a slash, as that of a server."""

    server: S3Server
    asked: list[Asked] = field(default_factory=list)
    port: int = 0
    struck: int = 0
    """How many requests were struck at since ``calm``."""

    stop: Callable[[], object] = lambda: None
    deaf_to: frozenset[str] = frozenset()
    """Headers that are not passed on, in lower case."""

    _armed: list[_Armed] = field(default_factory=list)
    _session: aiohttp.ClientSession | None = None

    @property
    def address(self) -> str:
        return self.server.address.replace(f":{self.server.port}/", f":{self.port}/")

    @property
    def deeds(self) -> Counter[str]:
        """How often what was asked."""
        return Counter(each.deed for each in self.asked)

    def strike(self, strike: Strike, *deeds: str, path: str = "", skipped: int = 0, times: float = 1) -> None:
        """Strike at requests that come to one of ``deeds`` (any if none is named) and have ``path`` in theirs:
        at so many of them, after the first ``skipped``."""
        self._armed.append(
            _Armed(strike, lambda asked: path in asked.path and (not deeds or asked.deed in deeds), skipped, times)
        )

    def calm(self) -> None:
        """Strike no more, and forget what was asked."""
        self._armed.clear()
        self.asked.clear()
        self.struck = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        asked = Asked(_deed_of(request), request.path)
        self.asked.append(asked)

        async def pass_on() -> Answer:
            return await self._pass_on(request, body)

        strike = self._strike_at(asked)
        if strike is not None:
            self.struck += 1
            return await strike(request, pass_on)
        return given(await pass_on())

    def _strike_at(self, asked: Asked) -> Strike | None:
        for armed in self._armed:
            if not armed.wanted(asked):
                continue
            if armed.skipped:
                armed.skipped -= 1
            elif armed.times:
                armed.times -= 1
                return armed.strike
        return None

    async def _pass_on(self, request: web.Request, body: bytes) -> Answer:
        assert self._session is not None
        url = URL(f"{self.server.endpoint}{request.raw_path}", encoded=True)
        dropped = _OWN | self.deaf_to
        headers = CIMultiDict((name, value) for name, value in request.headers.items() if name.lower() not in dropped)
        data = body if body or "Content-Length" in request.headers else None
        async with self._session.request(
            request.method, url, data=data, headers=headers, allow_redirects=False
        ) as answer:
            return Answer(answer.status, CIMultiDict(answer.headers), await answer.read())


@contextmanager
def s3_proxy(server: S3Server) -> Iterator[S3Proxy]:
    """A proxy in front of ``server``, in a thread of its own: clients that block may be asked through it too."""
    proxy, ready = S3Proxy(server), threading.Event()
    thread = threading.Thread(target=asyncio.run, args=[_serve(proxy, ready)])
    thread.start()
    try:
        assert ready.wait(30)
        yield proxy
    finally:
        proxy.stop()
        thread.join()


async def _serve(proxy: S3Proxy, ready: threading.Event) -> None:
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    proxy.stop = lambda: loop.call_soon_threadsafe(ended.set)
    application = web.Application(client_max_size=_BODY_BYTES_MAX)
    application.router.add_route("*", "/{path:.*}", proxy.handle)
    unchanged = {"User-Agent", "Accept", "Accept-Encoding", "Content-Type"}
    async with aiohttp.ClientSession(auto_decompress=False, skip_auto_headers=unchanged) as session:
        proxy._session = session
        async with serving(application) as address:
            proxy.port = URL(address).port or 0
            ready.set()
            await ended.wait()


def given(answer: Answer) -> web.Response:
    """The answer of the store as it is."""
    kept = CIMultiDict((name, value) for name, value in answer.headers.items() if name.lower() not in _OWN)
    if not answer.body and "Content-Length" in answer.headers:  # of what a HEAD asks for
        kept["Content-Length"] = answer.headers["Content-Length"]
    return web.Response(status=answer.status, headers=kept, body=answer.body)


def _deed_of(request: web.Request) -> str:
    query, headers = request.query, request.headers
    if "uploads" in query:
        return "uploads" if request.method == "GET" else "begin"
    if "uploadId" in query:
        return {"PUT": "part", "POST": "complete", "DELETE": "abort"}.get(request.method, "parts")
    if request.method == "PUT" and "x-amz-copy-source" in headers:
        return "copy"
    if request.method == "PUT":
        return "swap" if {"If-Match", "If-None-Match"} & set(headers) else "put"
    if request.method == "GET":
        return "list" if "list-type" in query or "location" in query else "get"
    return "delete" if "delete" in query else request.method.lower()


# --- strikes


def answering(status: int, code: str) -> Strike:
    """Nothing is done, and the store says so."""

    async def strike(request: web.Request, _: PassOn) -> web.StreamResponse:
        body = f"<Error><Code>{code}</Code><Message>injected</Message></Error>"
        return web.Response(status=status, text=None if request.method == "HEAD" else body)

    return strike


async def dead(request: web.Request, _: PassOn) -> web.StreamResponse:
    """Nothing is done, and the connection ends."""
    return _hung_up(request)


async def losing(request: web.Request, pass_on: PassOn) -> web.StreamResponse:
    """It is done, and the connection ends before anybody hears of it."""
    await pass_on()
    return _hung_up(request)


def failing_after(status: int, code: str) -> Strike:
    """It is done, and the store says that it is not."""

    async def strike(request: web.Request, pass_on: PassOn) -> web.StreamResponse:
        await pass_on()
        return await answering(status, code)(request, pass_on)

    return strike


async def hanging(request: web.Request, _: PassOn) -> web.StreamResponse:
    """Nothing is done, and nothing is said."""
    await asyncio.Event().wait()
    return _hung_up(request)


async def cutting(request: web.Request, pass_on: PassOn) -> web.StreamResponse:
    """The body ends in the middle."""
    answer = await pass_on()
    response = web.StreamResponse(status=answer.status, headers=given(answer).headers)
    response.content_length = len(answer.body)
    await response.prepare(request)
    with suppress(ConnectionError):
        await response.write(answer.body[: len(answer.body) // 2])
    _hung_up(request)
    return response


async def spoiling(_: web.Request, pass_on: PassOn) -> web.StreamResponse:
    """One bit of the body is another."""
    answer = await pass_on()
    return given(Answer(answer.status, answer.headers, bytes([answer.body[0] ^ 1]) + answer.body[1:]))


def _hung_up(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()  # which goes nowhere
