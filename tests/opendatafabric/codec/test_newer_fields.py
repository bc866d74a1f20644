"""Blocks of later versions of the format: fields added behind the known ones are noted, and nothing else is."""

from __future__ import annotations

import struct

import pytest

from opendatafabric.codec.block_codec import decode_block, is_canonical
from opendatafabric.codec.flatbuffers_write import pack_instant
from opendatafabric.metadata.events import SetInfo
from tests.opendatafabric.codec.hand_made import NOON, HandMadeBlock
from tests.vectors.load import vectors

SET_LICENSE, SET_INFO, SET_SCHEMA = 9, 8, 10
NEWER = struct.pack("<I", 7)


def test_a_field_behind_the_known_ones_of_an_event_is_noted_and_passed_over() -> None:
    block = decode_block(HandMadeBlock(SET_INFO).table("event", "text", None, NEWER).text("text", b"known").raw())
    assert block.has_newer_fields
    assert block.event == SetInfo("known", None)
    assert not is_canonical(block)


def test_a_field_behind_the_known_ones_of_the_block_is_noted() -> None:
    made = HandMadeBlock(SET_INFO)
    made.table("root", pack_instant(NOON), None, struct.pack("<Q", 1), bytes([SET_INFO]), "event", NEWER)
    assert decode_block(made.table("event", None, None).raw()).has_newer_fields


def test_a_field_behind_the_known_ones_of_an_inner_table_is_noted() -> None:
    made = HandMadeBlock(SET_SCHEMA).table("event", None, "schema").table("schema", "fields", "extra")
    made.vector("fields").table("extra", "json", NEWER).text("json", b"{}")
    assert decode_block(made.raw()).has_newer_fields


@pytest.mark.parametrize("empty", [(None,), (None, None, None)])
def test_an_empty_place_behind_the_known_ones_is_no_field(empty: tuple[None, ...]) -> None:
    block = decode_block(HandMadeBlock(SET_INFO).table("event", "text", None, *empty).text("text", b"known").raw())
    assert not block.has_newer_fields


def test_no_block_of_this_version_has_newer_fields() -> None:
    assert not any(
        decode_block(bytes.fromhex(case["flatbuffers_hex"])).has_newer_fields for case in vectors("blocks.json")
    )
