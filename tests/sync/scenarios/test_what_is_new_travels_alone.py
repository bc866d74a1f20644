"""One side is ahead of the other: only the blocks and objects that are new travel."""

from __future__ import annotations

import pytest

from opendatafabric.errors import ChainsDiverged
from opendatafabric.layout import data_key
from opendatafabric.multihash import physical_hash
from tests.sync.scenarios.stage import Stage, assert_holds, fill, history


async def test_pushed(stage: Stage) -> None:
    builder = history()
    for dataset in (stage.local, stage.remote):
        await fill(dataset, builder)
    old_head = builder.head
    builder.data(b"new")
    await fill(stage.local, builder)
    result = await stage.push()
    assert (result.old_head, result.plan.num_blocks, result.objects_moved) == (old_head, 1, 1)
    assert [key for _, key, _ in stage.server.requests] == [data_key(physical_hash(b"new"))]
    await assert_holds(stage.remote, builder)


@pytest.mark.parametrize("protocol", ["pull", "simple_pull"])
async def test_pulled(stage: Stage, protocol: str) -> None:
    builder = history()
    for dataset in (stage.local, stage.remote):
        await fill(dataset, builder)
    builder.info("new")
    builder.data(b"new")
    await fill(stage.remote, builder)
    result = await getattr(stage, protocol)()
    assert (result.plan.num_blocks, result.objects_moved) == (2, 1)
    assert [key for _, key, _ in stage.server.requests] == [data_key(physical_hash(b"new"))]
    await assert_holds(stage.local, builder)


async def test_an_object_that_is_there_already_is_not_sent_again(stage: Stage) -> None:
    builder = history()
    await fill(stage.local, builder)
    name, content = next(iter(builder.slices.items()))
    await stage.remote.writable_objects().put(data_key(name), content)
    assert (await stage.push()).objects_moved == 1
    await assert_holds(stage.remote, builder)


async def test_the_same_object_twice_in_a_chain_travels_once(stage: Stage) -> None:
    builder = history(slices=1)
    builder.data(b"slice 0")
    await fill(stage.local, builder)
    assert (await stage.push()).objects_moved == 1
    assert len(stage.server.requests) == 1
    await assert_holds(stage.remote, builder)


@pytest.mark.parametrize("protocol", ["pull", "simple_pull"])
async def test_who_is_ahead_does_not_pull(stage: Stage, protocol: str) -> None:
    builder = history()
    await fill(stage.remote, builder)
    builder.info("ours")
    builder_slices_known = {data_key(name): data for name, data in builder.slices.items()}
    await stage.local.writable_objects().put_many(builder_slices_known)
    await stage.local.append(builder.blocks, expected_head=None)
    with pytest.raises(ChainsDiverged):
        await getattr(stage, protocol)()
    await assert_holds(stage.local, builder)


async def test_who_is_behind_does_not_push(stage: Stage) -> None:
    builder = history()
    await fill(stage.local, builder)
    builder.info("theirs")
    await fill(stage.remote, builder)
    with pytest.raises(ChainsDiverged):
        await stage.push()
    await assert_holds(stage.remote, builder)
    assert stage.server.outcomes == []
