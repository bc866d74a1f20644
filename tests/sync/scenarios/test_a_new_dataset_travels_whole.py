"""A dataset that the other side has never seen arrives with everything it names."""

from __future__ import annotations

import pytest

from opendatafabric.errors import DatasetNotFound
from tests.sync.scenarios.stage import Stage, assert_holds, fill, history


async def test_pushed(stage: Stage) -> None:
    builder = history()
    await fill(stage.local, builder)
    result = await stage.push(visibility="Public")
    await assert_holds(stage.remote, builder)
    assert (result.old_head, result.new_head, result.objects_moved) == (None, builder.head, 2)
    assert (result.plan.num_blocks, result.plan.num_objects) == (5, 2)
    assert stage.server.visibility == "Public"
    assert stage.server.outcomes[0].created


async def test_pulled(stage: Stage) -> None:
    builder = history()
    await fill(stage.remote, builder)
    result = await stage.pull()
    await assert_holds(stage.local, builder)
    assert (result.old_head, result.new_head, result.objects_moved) == (None, builder.head, 2)
    assert stage.server.outcomes[0].error is None


async def test_pulled_by_the_simple_protocol(stage: Stage) -> None:
    builder = history()
    await fill(stage.remote, builder)
    result = await stage.simple_pull()
    await assert_holds(stage.local, builder)
    assert (result.new_head, result.objects_moved) == (builder.head, 2)
    assert stage.server.outcomes == []


async def test_a_dataset_without_objects(stage: Stage) -> None:
    builder = history(slices=0)
    await fill(stage.local, builder)
    assert (await stage.push()).objects_moved == 0
    await assert_holds(stage.remote, builder)


async def test_what_is_not_there_cannot_travel(stage: Stage) -> None:
    with pytest.raises(DatasetNotFound):
        await stage.pull()
    with pytest.raises(DatasetNotFound):
        await stage.simple_pull()
    with pytest.raises(DatasetNotFound):
        await stage.push()
    assert stage.server.outcomes == []
