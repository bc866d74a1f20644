"""A dataset that the other side has never seen arrives with everything it names."""

from __future__ import annotations

import pytest

from opendatafabric.errors import DatasetNotFound
from tests.sync.scenarios.stage import Stage, World, assert_holds, fill, history


async def test_pushed(world: World) -> None:
    builder = history()
    await fill(world.local, builder)
    result = await world.push(visibility="Public")
    await assert_holds(world.remote, builder)
    assert (result.old_head, result.new_head, result.objects_moved) == (None, builder.head, 2)
    assert (result.plan.num_blocks, result.plan.num_objects) == (5, 2)
    assert world.conversations == 1


async def test_pulled(world: World) -> None:
    builder = history()
    await fill(world.remote, builder)
    result = await world.pull()
    await assert_holds(world.local, builder)
    assert (result.old_head, result.new_head, result.objects_moved) == (None, builder.head, 2)
    assert world.conversations == 1


async def test_pulled_by_the_simple_protocol(world: World) -> None:
    builder = history()
    await fill(world.remote, builder)
    result = await world.simple_pull()
    await assert_holds(world.local, builder)
    assert (result.new_head, result.objects_moved) == (builder.head, 2)
    assert world.conversations == 0


async def test_a_dataset_without_objects(world: World) -> None:
    builder = history(slices=0)
    await fill(world.local, builder)
    assert (await world.push()).objects_moved == 0
    await assert_holds(world.remote, builder)


async def test_what_is_not_there_cannot_travel(world: World) -> None:
    with pytest.raises(DatasetNotFound):
        await world.pull()
    with pytest.raises(DatasetNotFound):
        await world.simple_pull()
    with pytest.raises(DatasetNotFound):
        await world.push()
    assert world.conversations == 0


async def test_pushed_to_be_seen_by_everybody(stage: Stage) -> None:
    await fill(stage.local, history())
    await stage.push(visibility="Public")
    assert stage.server.visibility == "Public"
