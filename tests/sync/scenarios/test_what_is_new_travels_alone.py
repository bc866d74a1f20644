"""One side is ahead of the other: only the blocks and objects that are new travel."""

from __future__ import annotations

import pytest

from opendatafabric.errors import ChainsDiverged
from opendatafabric.layout import data_key
from opendatafabric.multihash import physical_hash
from tests.sync.scenarios.stage import World, assert_holds, fill, history

pytestmark = pytest.mark.slow


async def test_pushed(world: World) -> None:
    builder = history()
    for dataset in (world.local, world.remote):
        await fill(dataset, builder)
    old_head = builder.head
    builder.data(b"new")
    await fill(world.local, builder)
    result = await world.push()
    assert (result.old_head, result.plan.num_blocks, result.objects_moved) == (old_head, 1, 1)
    assert world.objects_requested == [data_key(physical_hash(b"new"))]
    await assert_holds(world.remote, builder)


@pytest.mark.parametrize("protocol", ["pull", "simple_pull"])
async def test_pulled(world: World, protocol: str) -> None:
    builder = history()
    for dataset in (world.local, world.remote):
        await fill(dataset, builder)
    builder.info("new")
    builder.data(b"new")
    await fill(world.remote, builder)
    result = await getattr(world, protocol)()
    assert (result.plan.num_blocks, result.objects_moved) == (2, 1)
    assert world.objects_requested == [data_key(physical_hash(b"new"))]
    await assert_holds(world.local, builder)


async def test_an_object_that_is_there_already_is_not_sent_again(world: World) -> None:
    builder = history()
    await fill(world.local, builder)
    name, content = next(iter(builder.slices.items()))
    await world.remote.writable_objects().put(data_key(name), content)
    assert (await world.push()).objects_moved == 1
    await assert_holds(world.remote, builder)


async def test_the_same_object_twice_in_a_chain_travels_once(world: World) -> None:
    builder = history(slices=1)
    builder.data(b"slice 0")
    await fill(world.local, builder)
    assert (await world.push()).objects_moved == 1
    assert len(world.objects_requested) == 1
    await assert_holds(world.remote, builder)


@pytest.mark.parametrize("protocol", ["pull", "simple_pull"])
async def test_who_is_ahead_does_not_pull(world: World, protocol: str) -> None:
    builder = history()
    await fill(world.remote, builder)
    builder.info("ours")
    builder_slices_known = {data_key(name): data for name, data in builder.slices.items()}
    await world.local.writable_objects().put_many(builder_slices_known)
    await world.local.append(builder.blocks, expected_head=None)
    with pytest.raises(ChainsDiverged):
        await getattr(world, protocol)()
    await assert_holds(world.local, builder)


async def test_who_is_behind_does_not_push(world: World) -> None:
    builder = history()
    await fill(world.local, builder)
    builder.info("theirs")
    await fill(world.remote, builder)
    with pytest.raises(ChainsDiverged):
        await world.push()
    await assert_holds(world.remote, builder)
    assert world.conversations == 0
