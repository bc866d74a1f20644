"""Blocks of inputs: how far each goes, and the watermark before and after it."""

from __future__ import annotations

import json

import pytest

from opendatafabric.instant import Instant
from opendatafabric.metadata.events import AddData
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.multihash import physical_hash
from pipeline.transform.input_block import InputBlock, input_blocks
from tests.pipeline.datasets import day


def added(end: int | None, watermark: Instant | None) -> AddData:
    """A block that ends at that offset, if it has records."""
    some = physical_hash(b"some")
    data = None if end is None else DataSlice(some, some, OffsetInterval(end, end), 1)
    return AddData(new_data=data, new_watermark=watermark)


def test_each_block_has_the_watermark_of_those_before_it() -> None:
    events = [added(4, day(3)), added(None, day(5)), added(5, day(5))]
    assert list(input_blocks(events, last_offset=3, watermark=day(2))) == [
        InputBlock(4, day(2), day(3)),
        InputBlock(4, day(3), day(5)),
        InputBlock(5, day(5), day(5)),
    ]


def test_a_watermark_never_goes_back() -> None:
    events = [added(0, None), added(1, day(4)), added(2, None), added(3, day(3))]
    found = input_blocks(events, last_offset=None, watermark=None)
    assert [each.watermark for each in found] == [None, day(4), day(4), day(4)]


def test_before_any_record_there_is_no_offset() -> None:
    (found,) = input_blocks([added(None, day(1))], last_offset=None, watermark=None)
    assert found == InputBlock(None, None, day(1))


@pytest.mark.parametrize("block", [InputBlock(None, None, None), InputBlock(7, day(1), day(2))])
def test_it_goes_through_a_message(block: InputBlock) -> None:
    assert InputBlock.from_message(json.loads(json.dumps(block.to_message()))) == block
