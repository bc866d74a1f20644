"""Plans count blocks and what they name, from metadata alone."""

from __future__ import annotations

from sync.plan import TransferPlan, plan_transfer
from tests.storage.chains import chain
from tests.sync.scenarios.stage import history


def test_no_blocks_come_to_nothing() -> None:
    assert plan_transfer([]) == TransferPlan(0, 0, 0, 0, 0)


def test_a_plan_counts_blocks_objects_records_and_bytes() -> None:
    builder = history()
    raw_bytes = sum(len(block.raw) for block in builder.blocks)
    assert plan_transfer(builder.blocks) == TransferPlan(5, 2, 20, raw_bytes, len(b"slice 0slice 1"))


def test_an_object_named_twice_counts_twice() -> None:
    builder = history(slices=1)
    builder.data(b"slice 0")
    assert plan_transfer(builder.blocks).num_objects == 2


def test_plans_of_parts_add_up_to_the_plan_of_the_whole() -> None:
    blocks = history().blocks
    assert plan_transfer(blocks[:2]) + plan_transfer(blocks[2:]) == plan_transfer(blocks)


def test_blocks_without_data_name_nothing() -> None:
    plan = plan_transfer(chain(["a"]).blocks)
    assert (plan.num_blocks, plan.num_objects, plan.num_records, plan.bytes_in_raw_objects) == (2, 0, 0, 0)
