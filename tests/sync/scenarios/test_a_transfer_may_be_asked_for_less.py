"""Options of a transfer: only look, only blocks, only up to a block, again from a block."""

from __future__ import annotations

import pytest

from opendatafabric.errors import OdfError
from opendatafabric.multihash import physical_hash
from tests.sync.scenarios.stage import World, assert_holds, fill, history, keys_of

pytestmark = pytest.mark.slow

PROTOCOLS = ["pull", "simple_pull"]


@pytest.mark.parametrize("transfer", [*PROTOCOLS, "push"])
async def test_a_dry_run_counts_and_moves_nothing(world: World, transfer: str) -> None:
    builder = history()
    source, target = (world.local, world.remote) if transfer == "push" else (world.remote, world.local)
    await fill(source, builder)
    result = await getattr(world, transfer)(dry_run=True)
    assert (result.dry_run, result.plan.num_blocks, result.plan.num_objects, result.objects_moved) == (True, 5, 2, 0)
    assert await keys_of(target) == set()
    assert await target.head() is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_metadata_alone_and_the_objects_later(world: World, protocol: str) -> None:
    builder = history()
    await fill(world.remote, builder)
    await getattr(world, protocol)(metadata_only=True)
    assert await world.local.head() == builder.head
    assert world.objects_requested == []
    result = await getattr(world, protocol)(since=builder.blocks[0].hash)
    assert result.objects_moved == 2
    await assert_holds(world.local, builder)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_up_to_a_block(world: World, protocol: str) -> None:
    builder = history()
    await fill(world.remote, builder)
    stop_at = builder.blocks[3].hash
    result = await getattr(world, protocol)(stop_at=stop_at)
    assert (result.new_head, result.plan.num_blocks, result.objects_moved) == (stop_at, 4, 1)
    await getattr(world, protocol)()
    await assert_holds(world.local, builder)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_up_to_a_block_that_is_not_there(world: World, protocol: str) -> None:
    await fill(world.remote, history())
    with pytest.raises(OdfError):
        await getattr(world, protocol)(stop_at=physical_hash(b"nowhere"))
    assert await keys_of(world.local) == set()
