"""While objects travel the server asks how it goes, from time to time and never behind the client's last word."""

from __future__ import annotations

import pytest

from sync.smart import push
from sync.smart.messages import Progress, PushComplete, RunningCount, RunningProgress
from tests.sync.scenarios.stage import Stage, assert_holds, fill, history
from tests.sync.scenarios.talk import OK, asking, files_of, opening, packed, pushing
from tests.sync.smart_server import memory_dataset

RUNNING = Progress(details=RunningProgress(Running=RunningCount(uploaded_objects_count=0)))


async def test_asked_again_and_again_until_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push, "PROGRESS_INTERVAL_S", 0.01)
    blocks = history(slices=0).blocks
    dataset = memory_dataset()
    async with pushing(dataset) as talk:
        await talk.say(opening(blocks), packed(blocks), asking(files_of(blocks)))
        assert [await talk.hear() for _ in range(2)] == [OK, OK]
        assert "object_transfer_strategies" in await talk.hear()
        assert [await talk.hear() for _ in range(3)] == ["{}"] * 3
        await talk.say(RUNNING)
        assert await talk.hear() == "{}"
        await talk.say(Progress(details="Complete"), PushComplete())
        assert (await talk.served).new_head == blocks[-1].hash


async def test_a_busy_client_answers(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push, "PROGRESS_INTERVAL_S", 0.001)
    builder = history(slices=30)
    await fill(stage.local, builder)
    await stage.push()
    await assert_holds(stage.remote, builder)


async def test_several_rounds_of_objects(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push, "OBJECTS_PER_REQUEST_MAX", 2)
    builder = history(slices=5)
    await fill(stage.local, builder)
    assert (await stage.push()).objects_moved == 5
    await assert_holds(stage.remote, builder)
