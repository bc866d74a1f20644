"""The places where scenarios are played, each with an empty server and an empty client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import aiohttp

from catalog.datasets import DatasetRecord
from catalog.visibility import Visibility
from repo_server.config import Tenancy
from storage.dataset import Dataset
from sync.remote import RemoteLocation, parse_remote
from tests.repo_server.hosted import Hosted, hosted
from tests.storage.chains import dataset_id
from tests.sync.memory_session import MemorySession
from tests.sync.scenarios.stage import Stage, World
from tests.sync.smart_server import SmartServer, smart_server

Watched = list[tuple[str, str, str | None]]


@asynccontextmanager
async def memory_world() -> AsyncIterator[Stage]:
    """No sockets at all."""
    server = SmartServer(address="http://memory/")
    session = MemorySession(server)
    try:
        yield Stage(server, session, watched=session.watched)
    finally:
        await session.close()


@asynccontextmanager
async def socket_world(*, base64: bool) -> AsyncIterator[Stage]:
    """Sockets; a server that knows our encoding, or one that does not."""
    watched: Watched = []
    async with smart_server(base64=base64) as server, _watched_session(watched) as session:
        yield Stage(server, session, watched=watched)


@asynccontextmanager
async def server_world(folder: Path, tenancy: Tenancy) -> AsyncIterator[World]:
    """The real server, and the owner of its datasets as the client."""
    watched: Watched = []
    async with hosted(folder, tenancy) as server, _watched_session(watched) as session:
        places = _Places(server)
        location, remote = await places.next()
        yield World(session, remote, location, watched, places.next, token=server.tokens["alice"])


class _Places:
    """One dataset after another, each invisible until something is pushed to it or put there."""

    def __init__(self, server: Hosted) -> None:
        self._server = server
        self._count = 0

    async def next(self) -> tuple[RemoteLocation, Dataset]:
        server, owned = self._server, dataset_id()
        if self._count:
            await server.repository.delete(owned)
            await server.catalog.datasets.forget(owned)
        self._count += 1
        alias = server.alias(f"weather-{self._count}")
        entry = await server.repository.create(alias, owned)
        record = DatasetRecord(owned, entry.alias, server.accounts["alice"].id, Visibility.PRIVATE)
        await server.catalog.datasets.put(record)
        return parse_remote(f"odf+{server.url}/{alias}"), entry.dataset


@asynccontextmanager
async def _watched_session(watched: Watched) -> AsyncIterator[aiohttp.ClientSession]:
    async def note(_: aiohttp.ClientSession, __: SimpleNamespace, request: aiohttp.TraceRequestStartParams) -> None:
        parts = request.url.path.split("/")
        depth = 1 if parts[-1] in {"pull", "push"} else 2
        watched.append((request.method, "/".join(parts[-depth:]), request.headers.get("Range")))

    tracing = aiohttp.TraceConfig()
    tracing.on_request_start.append(note)
    async with aiohttp.ClientSession(trace_configs=[tracing]) as session:
        yield session
