"""Which objects a block names."""

from __future__ import annotations

import pytest

from opendatafabric.chain.objects import ObjectFile, ObjectKind, objects_of
from opendatafabric.errors import LimitExceeded
from opendatafabric.limits import OBJECT_BYTES_MAX
from opendatafabric.metadata.events import AddData, SetInfo, UnknownEvent
from opendatafabric.metadata.slices import Checkpoint
from tests.opendatafabric.chain.chain_samples import (
    ROOT,
    added,
    checkpoint,
    data_slice,
    executed,
    next_block,
    object_hash,
    source_input,
    state_after,
)

STATE = state_after(ROOT)


def test_a_data_block_names_its_slice_and_its_checkpoint() -> None:
    block = next_block(STATE, added(0, 9, new_checkpoint=checkpoint(1), prev_checkpoint=object_hash(5)))
    assert objects_of(block) == (
        ObjectFile(ObjectKind.DATA_SLICE, data_slice(0, 9).physical_hash, 100),
        ObjectFile(ObjectKind.CHECKPOINT, object_hash(1), 10),
    )
    assert objects_of(block) == objects_of(block.block)


def test_derived_blocks_name_objects_alike() -> None:
    block = next_block(STATE, executed(source_input(2), new_checkpoint=checkpoint(1)))
    assert [file.kind for file in objects_of(block)] == [ObjectKind.CHECKPOINT]


@pytest.mark.parametrize("event", [SetInfo(), UnknownEvent(99, "newer"), AddData()])
def test_other_blocks_name_none(event: SetInfo) -> None:
    assert objects_of(next_block(STATE, event)) == ()


def test_a_declared_size_is_allowed_up_to_the_limit_and_not_beyond() -> None:
    largest = AddData(new_checkpoint=Checkpoint(object_hash(1), OBJECT_BYTES_MAX))
    assert objects_of(next_block(STATE, largest))[0].size == OBJECT_BYTES_MAX
    for size in (OBJECT_BYTES_MAX + 1, 2**63, 2**64 - 1):
        with pytest.raises(LimitExceeded, match="checkpoints/f1620"):
            objects_of(next_block(STATE, AddData(new_checkpoint=Checkpoint(object_hash(1), size))))
