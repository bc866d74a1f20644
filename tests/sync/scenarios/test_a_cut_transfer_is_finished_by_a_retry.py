"""The conversation breaks after any number of texts, on either side: nothing shows before its end, a retry succeeds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from opendatafabric.errors import OdfError
from tests.sync.scenarios.stage import Cutter, Stage, World, assert_holds, every_cut, fill, history

pytestmark = pytest.mark.slow


async def push_anew(cutter: Cutter) -> None:
    world, builder = cutter.world, history()
    for _ in every_cut(cutter):
        await world.begin_again()
        await fill(world.local, builder)
        try:
            await world.push()
        except OdfError:
            assert await world.remote.head() in (None, builder.head)
        cutter.disarm()
        await world.push()
        await assert_holds(world.remote, builder)


async def push_on(cutter: Cutter) -> None:
    world, builder = cutter.world, history()
    longer = builder.fork(5)
    longer.data(b"new")
    for _ in every_cut(cutter):
        await world.begin_again()
        await fill(world.local, longer)
        await fill(world.remote, builder)
        try:
            await world.push()
        except OdfError:
            if await world.remote.head() != longer.head:
                await assert_holds(world.remote, builder)
        cutter.disarm()
        await world.push()
        await assert_holds(world.remote, longer)


async def pull_anew(cutter: Cutter) -> None:
    world, builder = cutter.world, history()
    for _ in every_cut(cutter):
        await world.begin_again()
        await fill(world.remote, builder)
        try:
            await world.pull()
        except OdfError:
            assert await world.local.head() is None
        cutter.disarm()
        await world.pull()
        await assert_holds(world.local, builder)


async def pull_on(cutter: Cutter) -> None:
    world, builder = cutter.world, history()
    longer = builder.fork(5)
    longer.data(b"new")
    for _ in every_cut(cutter):
        await world.begin_again()
        await fill(world.remote, longer)
        await fill(world.local, builder)
        try:
            await world.pull()
        except OdfError:
            await assert_holds(world.local, builder)
        cutter.disarm()
        await world.pull()
        await assert_holds(world.local, longer)


Transfer = Callable[[Cutter], Awaitable[None]]
TRANSFERS = [push_anew, push_on, pull_anew, pull_on]


@pytest.mark.parametrize("transfer", TRANSFERS)
async def test_cut_at_the_client(world: World, transfer: Transfer, monkeypatch: pytest.MonkeyPatch) -> None:
    await transfer(Cutter(world, "client", monkeypatch))


@pytest.mark.parametrize("transfer", TRANSFERS)
async def test_cut_at_the_server(stage: Stage, transfer: Transfer, monkeypatch: pytest.MonkeyPatch) -> None:
    await transfer(Cutter(stage, "server", monkeypatch))
