"""Both sides went on from the same block: refused as it is, replaced when forced."""

from __future__ import annotations

import pytest

from opendatafabric.errors import ChainsDiverged
from tests.storage.chains import ChainBuilder
from tests.sync.scenarios.stage import Stage, assert_holds, fill, history


async def diverged(stage: Stage) -> tuple[ChainBuilder, ChainBuilder]:
    ours = history()
    theirs = ours.fork(3)
    ours.data(b"ours")
    theirs.data(b"theirs")
    await fill(stage.local, ours)
    await fill(stage.remote, theirs)
    return ours, theirs


async def test_a_push_is_refused(stage: Stage) -> None:
    _, theirs = await diverged(stage)
    with pytest.raises(ChainsDiverged):
        await stage.push()
    await assert_holds(stage.remote, theirs)


async def test_a_forced_push_replaces_the_remote_chain(stage: Stage) -> None:
    ours, theirs = await diverged(stage)
    result = await stage.push(force=True)
    assert (result.old_head, result.new_head) == (theirs.head, ours.head)
    await assert_holds(stage.remote, ours)


@pytest.mark.parametrize("protocol", ["pull", "simple_pull"])
async def test_a_pull_is_refused(stage: Stage, protocol: str) -> None:
    ours, _ = await diverged(stage)
    with pytest.raises(ChainsDiverged):
        await getattr(stage, protocol)()
    await assert_holds(stage.local, ours)


@pytest.mark.parametrize("protocol", ["pull", "simple_pull"])
async def test_a_forced_pull_replaces_the_local_chain(stage: Stage, protocol: str) -> None:
    _, theirs = await diverged(stage)
    await getattr(stage, protocol)(force=True)
    await assert_holds(stage.local, theirs)


async def test_a_forced_push_goes_back(stage: Stage) -> None:
    longer = history()
    shorter = longer.fork(4)
    await fill(stage.remote, longer)
    await fill(stage.local, shorter)
    await stage.push(force=True)
    assert await stage.remote.head() == shorter.head
