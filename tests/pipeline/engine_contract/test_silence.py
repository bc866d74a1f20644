"""Machines that vanish in the middle of a call: the other end notices, and waits no longer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from opendatafabric.errors import EngineDied
from pipeline.engine_contract import client, methods, server
from pipeline.engine_contract.client import ask
from pipeline.engine_contract.methods import RAW_QUERY
from pipeline.engine_contract.served import ServedEngine
from pipeline.engine_contract.server import serving
from tests.pipeline.engine_contract.coordinator import Coordinator, query
from tests.pipeline.engine_contract.test_server import StuckEngine

pytestmark = pytest.mark.slow


class Wire:
    """What lies between two machines; once it is cut nothing comes through, and nobody is told."""

    def __init__(self, port: int) -> None:
        self._port, self._whole = port, True
        self._tasks: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        """From now on."""
        self._whole = False

    async def joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self._port)
        for source, target in ((reader, other_writer), (other_reader, writer)):
            self._tasks.add(asyncio.create_task(self._carry(source, target)))

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65_536):
            if self._whole:
                target.write(data)

    async def close(self) -> None:
        """Let go of all connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def wire_to(port: int) -> AsyncIterator[tuple[Wire, str]]:
    """A wire to that port, and the address of its other end."""
    wire = Wire(port)
    listening = await asyncio.start_server(wire.joined, "127.0.0.1", 0)
    try:
        yield wire, f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        listening.close()
        await wire.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is not borne for long."""
    monkeypatch.setattr(methods, "ENGINE_REPLY_S_MAX", 0.2)
    monkeypatch.setattr(client, "ENGINE_SILENCE_S_MAX", 0.2)
    monkeypatch.setattr(server, "COORDINATOR_SILENCE_S_MAX", 0.2)


async def test_both_ends_notice_that_the_other_one_is_gone(
    impatient: None, coordinator: Coordinator, tmp_path: Path
) -> None:
    engine = StuckEngine(tmp_path / "stuck")
    request = coordinator.raw(query("select 1"), coordinator.cities(lviv=5))
    async with (
        serving(ServedEngine(engine, coordinator.folder), host="127.0.0.1", port=0) as port,
        wire_to(port) as (wire, address),
    ):
        asking = asyncio.create_task(ask(address, RAW_QUERY, request))
        await engine.begun.wait()
        wire.cut()
        with pytest.raises(EngineDied, match="broke off"):
            await asyncio.wait_for(asking, 60)
        await asyncio.wait_for(engine.cancelled.wait(), 60)
