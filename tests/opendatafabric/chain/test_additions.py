"""What a block adds, read without decoding it, is what the decoded block says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.chain.additions import read_additions
from opendatafabric.chain.objects import objects_of
from opendatafabric.codec.block_codec import decode_block, encode_block
from opendatafabric.errors import LimitExceeded, MalformedBlock, OdfError
from opendatafabric.limits import OBJECT_BYTES_MAX
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.events import AddData, DatasetKind, ExecuteTransform, Seed
from tests.for_every import for_every
from tests.opendatafabric.codec.hand_made import HandMadeBlock
from tests.storage.chains import dataset_id, instant
from tests.strategies import blocks, edited, values_of
from tests.vectors.load import vectors

SAMPLES = [bytes.fromhex(case["flatbuffers_hex"]) for case in vectors("blocks.json")]
ADDING = values_of(AddData) | values_of(ExecuteTransform)


def records_of(block: HashedBlock) -> int:
    event = block.event
    data = event.new_data if isinstance(event, AddData | ExecuteTransform) else None
    return 0 if data is None else data.offset_interval.end - data.offset_interval.start + 1


def expect_the_same(raw: bytes) -> None:
    block, additions = decode_block(raw), read_additions(raw)

    assert additions.prev_block_hash == (None if block.prev_block_hash is None else bytes(block.prev_block_hash))
    assert additions.record_count == records_of(block)
    try:
        named = objects_of(block)
    except LimitExceeded:
        assert any(each.size > OBJECT_BYTES_MAX for each in additions.objects)
    else:
        assert tuple(each.to_file() for each in additions.objects) == named


@for_every(SAMPLES)
def test_known_blocks_add_what_they_say(raw: bytes) -> None:
    expect_the_same(raw)


@given(blocks())
def test_any_block_adds_what_it_says(block: MetadataBlock) -> None:
    expect_the_same(encode_block(block).raw)


@given(ADDING)
def test_any_event_with_data_adds_what_it_says(event: AddData | ExecuteTransform) -> None:
    expect_the_same(encode_block(MetadataBlock(instant(0), None, 0, event)).raw)


@given(st.sampled_from(SAMPLES).flatmap(edited))
def test_no_bytes_do_harm_and_what_decodes_is_read_the_same(raw: bytes) -> None:
    try:
        read_additions(raw)
    except OdfError:
        with pytest.raises(OdfError):
            decode_block(raw)
        return
    try:
        decode_block(raw)
    except OdfError:
        return
    expect_the_same(raw)


def test_events_of_the_future_add_nothing() -> None:
    raw = HandMadeBlock(event_type=200).table("event").raw()

    assert read_additions(raw).objects == ()


def test_a_block_that_is_cut_off_is_refused() -> None:
    raw = encode_block(MetadataBlock(instant(0), None, 0, Seed(dataset_id(), DatasetKind.ROOT))).raw

    for end in range(0, len(raw), 8):
        with pytest.raises(MalformedBlock):
            read_additions(raw[:end])
