"""The conversation breaks after any number of texts, on either side: nothing shows before its end, a retry succeeds."""

from __future__ import annotations

import pytest

from opendatafabric.errors import OdfError
from tests.sync.scenarios.stage import Cutter, Stage, assert_holds, every_cut, fill, history
from tests.sync.smart_server import memory_dataset

SIDES = ["server", "client"]


@pytest.mark.parametrize("side", SIDES)
async def test_pushed_anew(stage: Stage, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = history()
    await fill(stage.local, builder)
    cutter = Cutter(stage, side, monkeypatch)
    for _ in every_cut(cutter):
        stage.server.dataset = memory_dataset()
        try:
            await stage.push()
        except OdfError:
            assert await stage.remote.head() in (None, builder.head)
        cutter.disarm()
        await stage.push()
        await assert_holds(stage.remote, builder)


@pytest.mark.parametrize("side", SIDES)
async def test_pushed_on(stage: Stage, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = history()
    longer = builder.fork(5)
    longer.data(b"new")
    await fill(stage.local, longer)
    cutter = Cutter(stage, side, monkeypatch)
    for _ in every_cut(cutter):
        stage.server.dataset = memory_dataset()
        await fill(stage.remote, builder)
        try:
            await stage.push()
        except OdfError:
            if await stage.remote.head() != longer.head:
                await assert_holds(stage.remote, builder)
        cutter.disarm()
        await stage.push()
        await assert_holds(stage.remote, longer)


@pytest.mark.parametrize("side", SIDES)
async def test_pulled_anew(stage: Stage, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = history()
    await fill(stage.remote, builder)
    cutter = Cutter(stage, side, monkeypatch)
    for _ in every_cut(cutter):
        stage.local = memory_dataset()
        try:
            await stage.pull()
        except OdfError:
            assert await stage.local.head() is None
        cutter.disarm()
        await stage.pull()
        await assert_holds(stage.local, builder)


@pytest.mark.parametrize("side", SIDES)
async def test_pulled_on(stage: Stage, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = history()
    longer = builder.fork(5)
    longer.data(b"new")
    await fill(stage.remote, longer)
    cutter = Cutter(stage, side, monkeypatch)
    for _ in every_cut(cutter):
        stage.local = memory_dataset()
        await fill(stage.local, builder)
        try:
            await stage.pull()
        except OdfError:
            await assert_holds(stage.local, builder)
        cutter.disarm()
        await stage.pull()
        await assert_holds(stage.local, longer)
