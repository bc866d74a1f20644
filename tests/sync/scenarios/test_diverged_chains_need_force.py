"""Both sides went on from the same block: refused as it is, replaced when forced."""

from __future__ import annotations

import pytest

from opendatafabric.errors import ChainsDiverged
from tests.storage.chains import ChainBuilder
from tests.sync.scenarios.stage import World, assert_holds, fill, history


async def diverged(world: World) -> tuple[ChainBuilder, ChainBuilder]:
    ours = history()
    theirs = ours.fork(3)
    ours.data(b"ours")
    theirs.data(b"theirs")
    await fill(world.local, ours)
    await fill(world.remote, theirs)
    return ours, theirs


async def test_a_push_is_refused(world: World) -> None:
    _, theirs = await diverged(world)
    with pytest.raises(ChainsDiverged):
        await world.push()
    await assert_holds(world.remote, theirs)


async def test_a_forced_push_replaces_the_remote_chain(world: World) -> None:
    ours, theirs = await diverged(world)
    result = await world.push(force=True)
    assert (result.old_head, result.new_head) == (theirs.head, ours.head)
    await assert_holds(world.remote, ours)


@pytest.mark.parametrize("protocol", ["pull", "simple_pull"])
async def test_a_pull_is_refused(world: World, protocol: str) -> None:
    ours, _ = await diverged(world)
    with pytest.raises(ChainsDiverged):
        await getattr(world, protocol)()
    await assert_holds(world.local, ours)


@pytest.mark.parametrize("protocol", ["pull", "simple_pull"])
async def test_a_forced_pull_replaces_the_local_chain(world: World, protocol: str) -> None:
    _, theirs = await diverged(world)
    await getattr(world, protocol)(force=True)
    await assert_holds(world.local, theirs)


async def test_a_forced_push_goes_back(world: World) -> None:
    longer = history()
    shorter = longer.fork(4)
    await fill(world.remote, longer)
    await fill(world.local, shorter)
    await world.push(force=True)
    assert await world.remote.head() == shorter.head
