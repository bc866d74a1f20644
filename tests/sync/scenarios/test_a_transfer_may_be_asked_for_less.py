"""Options of a transfer: only look, only blocks, only up to a block, again from a block."""

from __future__ import annotations

import pytest

from opendatafabric.errors import OdfError
from opendatafabric.multihash import physical_hash
from tests.sync.scenarios.stage import Stage, assert_holds, fill, history
from tests.sync.smart_server import stored

PROTOCOLS = ["pull", "simple_pull"]


@pytest.mark.parametrize("transfer", [*PROTOCOLS, "push"])
async def test_a_dry_run_counts_and_moves_nothing(stage: Stage, transfer: str) -> None:
    builder = history()
    source, target = (stage.local, stage.remote) if transfer == "push" else (stage.remote, stage.local)
    await fill(source, builder)
    result = await getattr(stage, transfer)(dry_run=True)
    assert (result.dry_run, result.plan.num_blocks, result.plan.num_objects, result.objects_moved) == (True, 5, 2, 0)
    assert stored(target) == {}
    assert await target.head() is None
    assert all(outcome.error is None for outcome in stage.server.outcomes)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_metadata_alone_and_the_objects_later(stage: Stage, protocol: str) -> None:
    builder = history()
    await fill(stage.remote, builder)
    await getattr(stage, protocol)(metadata_only=True)
    assert await stage.local.head() == builder.head
    assert stage.server.requests == []
    result = await getattr(stage, protocol)(since=builder.blocks[0].hash)
    assert result.objects_moved == 2
    await assert_holds(stage.local, builder)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_up_to_a_block(stage: Stage, protocol: str) -> None:
    builder = history()
    await fill(stage.remote, builder)
    stop_at = builder.blocks[3].hash
    result = await getattr(stage, protocol)(stop_at=stop_at)
    assert (result.new_head, result.plan.num_blocks, result.objects_moved) == (stop_at, 4, 1)
    await getattr(stage, protocol)()
    await assert_holds(stage.local, builder)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_up_to_a_block_that_is_not_there(stage: Stage, protocol: str) -> None:
    await fill(stage.remote, history())
    with pytest.raises(OdfError):
        await getattr(stage, protocol)(stop_at=physical_hash(b"nowhere"))
    assert stored(stage.local) == {}
