"""Packs of blocks: examined as a whole, and which layouts of a block are taken from a peer."""

from __future__ import annotations

import struct

import pytest

from opendatafabric.chain.objects import objects_of
from opendatafabric.chain.state import ChainState
from opendatafabric.codec.block_codec import decode_block
from opendatafabric.codec.block_pack import pack_blocks
from opendatafabric.errors import ChainError, HashMismatch, LimitExceeded, MalformedPack
from opendatafabric.layout import block_key
from opendatafabric.metadata.events import UnknownEvent
from sync.packed import PackedBlocks, require_canonical
from tests.opendatafabric.codec.hand_made import HandMadeBlock
from tests.storage.chains import ChainBuilder, chain
from tests.sync.scenarios.stage import history

SET_INFO, OF_THE_FUTURE = 8, 200


def packed(builder: ChainBuilder) -> PackedBlocks:
    return PackedBlocks(pack_blocks((block.hash, block.raw) for block in builder.blocks), len(builder.blocks))


def test_a_pack_is_examined_to_its_end() -> None:
    builder = history()
    heard: list[int] = []
    examined = packed(builder).examine(ChainState.empty(), canonical_only=True, on_block=heard.append)
    assert (examined.head, examined.block_count) == (builder.head, 5)
    assert examined.files == tuple(file for block in builder.blocks for file in objects_of(block))
    assert examined.state.head == builder.head
    assert heard == [1, 2, 3, 4, 5]


def test_an_object_named_twice_is_listed_once() -> None:
    builder = history(slices=1)
    builder.data(b"slice 0")
    assert len(packed(builder).examine(ChainState.empty()).files) == 1


def test_the_first_block_is_the_oldest() -> None:
    builder = chain(["a", "b"])
    assert packed(builder).first() == builder.blocks[0]


def test_raw_blocks_come_in_batches() -> None:
    builder = chain(["a", "b", "c", "d"])
    batches = list(packed(builder).batches(2))
    assert [len(batch) for batch in batches] == [2, 2, 1]
    assert {k: v for batch in batches for k, v in batch.items()} == {block_key(b.hash): b.raw for b in builder.blocks}


def test_an_empty_pack_holds_nothing_to_examine() -> None:
    empty = PackedBlocks(pack_blocks(()), 5)
    with pytest.raises(MalformedPack):
        empty.first()
    with pytest.raises(MalformedPack):
        empty.examine(ChainState.empty())


def test_more_blocks_than_allowed_are_not_examined() -> None:
    pack = packed(chain(["a"]))
    with pytest.raises(LimitExceeded):
        PackedBlocks(pack.data, 1).examine(ChainState.empty())


def test_a_broken_rule_ends_the_examination() -> None:
    with pytest.raises(ChainError):
        packed(chain(["a"])).examine(ChainState.empty().apply(chain().blocks[0]))


def test_a_block_as_the_reference_writes_it_is_taken() -> None:
    for block in history().blocks:
        assert require_canonical(decode_block(block.raw)).raw == block.raw


def test_another_layout_of_the_same_block_is_refused() -> None:
    made = HandMadeBlock(SET_INFO).table("event", "text", None).text("text", b"known").raw()
    with pytest.raises(HashMismatch):
        require_canonical(decode_block(made))


def test_a_block_with_fields_of_later_versions_is_taken() -> None:
    made = HandMadeBlock(SET_INFO).table("event", "text", None, struct.pack("<I", 1)).text("text", b"known").raw()
    assert require_canonical(decode_block(made)).raw == made


def test_an_event_of_a_later_version_is_taken() -> None:
    block = decode_block(HandMadeBlock(OF_THE_FUTURE).table("event").raw())
    assert isinstance(block.event, UnknownEvent)
    assert require_canonical(block) is block
