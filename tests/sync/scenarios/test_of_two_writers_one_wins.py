"""Two clients push different continuations at once: one wins, the other hears of a conflict and loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeVar

import pytest

from opendatafabric.errors import ChainsDiverged, Conflict, RefConflict
from storage.dataset import Dataset
from sync.smart.channels import Channel
from sync.transfer import TransferResult
from tests.storage.chains import ChainBuilder
from tests.sync.scenarios.stage import Stage, World, assert_holds, fill, history

pytestmark = pytest.mark.slow


class Meeting:
    """Lets the servers of two conversations go on together, right before each commits."""

    def __init__(self) -> None:
        self._barrier = asyncio.Barrier(2)

    def wrap(self, channel: Channel) -> Channel:
        return _Meeting(channel, self._barrier)


class _Meeting:
    def __init__(self, channel: Channel, barrier: asyncio.Barrier) -> None:
        self._channel, self._barrier = channel, barrier
        self.peer_reads_base64 = channel.peer_reads_base64
        self.close = channel.close
        self.send = channel.send

    async def receive(self) -> str:
        text = await self._channel.receive()
        if text == "{}":
            await self._barrier.wait()
        return text


W = TypeVar("W", bound=World)


async def rivals(world: W) -> Sequence[tuple[W, ChainBuilder]]:
    base = history()
    await fill(world.remote, base)
    found = []
    for name in (b"one", b"two"):
        builder = base.fork(5)
        builder.data(name)
        client = world.another_client()
        await fill(client.local, builder)
        found.append((client, builder))
    return found


async def test_whenever_they_come(world: World) -> None:
    writers = await rivals(world)
    results = await asyncio.gather(*(writer.push() for writer, _ in writers), return_exceptions=True)
    won = [builder for (_, builder), result in zip(writers, results, strict=True) if isinstance(result, TransferResult)]
    lost = [result for result in results if isinstance(result, Conflict)]
    assert (len(won), len(lost)) == (1, 1)
    await assert_holds(world.remote, won[0])


async def test_at_the_same_moment(stage: Stage) -> None:
    writers = await rivals(stage)
    stage.server.wrap = Meeting().wrap
    results = await asyncio.gather(*(writer.push() for writer, _ in writers), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["RefConflict", "TransferResult"]
    winner = next(index for index, result in enumerate(results) if isinstance(result, TransferResult))
    await assert_holds(stage.remote, writers[winner][1])
    errors = [outcome.error for outcome in await stage.server.outcomes(2) if outcome.error is not None]
    assert [type(error) for error in errors] == [RefConflict]


async def test_the_loser_may_force_or_pull(world: World) -> None:
    (first, _), (second, builder) = await rivals(world)
    await first.push()
    with pytest.raises(ChainsDiverged):
        await second.push()
    await second.push(force=True)
    await assert_holds(world.remote, builder)


async def test_a_head_that_moved_since_it_was_read_is_told(stage: Stage) -> None:
    (_, builder), (second, _) = await rivals(stage)
    blocks = builder.blocks[5:]

    class MovingHead:
        """Moves the head after the client has read it, before the server does."""

        async def find(self) -> Dataset | None:
            if await stage.remote.head() == builder.blocks[4].hash:
                await stage.remote.append(blocks, expected_head=builder.blocks[4].hash, check_objects=False)
            return stage.remote

    stage.server.find = MovingHead().find  # type: ignore[method-assign]
    with pytest.raises(RefConflict) as conflict:
        await second.push()
    assert (conflict.value.expected, conflict.value.found) == (str(builder.blocks[4].hash), str(builder.head))
    assert await stage.remote.head() == builder.head
