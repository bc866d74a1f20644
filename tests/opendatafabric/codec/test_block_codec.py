"""Blocks of hostile hands, of other versions and of other writers."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from opendatafabric.codec.block_codec import decode_block, encode_block, is_canonical, read_block_header
from opendatafabric.codec.tables import table_of
from opendatafabric.codec.yaml_codec import to_plain, write_block_manifest
from opendatafabric.errors import LimitExceeded, MalformedBlock, MalformedInput, UnsupportedVersion
from opendatafabric.limits import BLOCK_BYTES_MAX
from opendatafabric.metadata.attributes import ExtraAttributes
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.events import AddData, SetDataSchema, SetInfo, UnknownEvent
from opendatafabric.multihash import physical_hash
from tests.opendatafabric.codec.hand_made import NOON, HandMadeBlock, manifest_of
from tests.strategies import deep_schema
from tests.vectors.load import vectors

ADD_DATA, SET_TRANSFORM, SET_INFO, SET_SCHEMA, ADD_PUSH_SOURCE = 1, 5, 8, 10, 11
INFO = SetInfo("a description", ("one", "two"))
SAMPLE = encode_block(MetadataBlock(NOON, physical_hash(b"prev"), 7, INFO)).raw
DEEPEST_LISTS = 59


def block_with(event: Any) -> MetadataBlock:
    return MetadataBlock(NOON, None, 1, event)


def info(description: str | None = None, keywords: str | None = None) -> HandMadeBlock:
    return HandMadeBlock(SET_INFO).table("event", description, keywords)


# Bytes that are no block


@pytest.mark.parametrize("length", range(0, len(SAMPLE), 5))
def test_a_cut_block_is_refused(length: int) -> None:
    with pytest.raises(MalformedBlock):
        decode_block(SAMPLE[:length])


@pytest.mark.parametrize("root", [0, 1, 2**31, 2**32 - 1, 2**32 - 4])
def test_a_root_offset_that_leads_nowhere_is_refused(root: int) -> None:
    content = bytearray(info().content())
    struct.pack_into("<I", content, 0, root)

    for raw in (struct.pack("<I", root) + SAMPLE[4:], manifest_of(bytes(content))):
        with pytest.raises(MalformedBlock):
            decode_block(raw)


@pytest.mark.parametrize("distance", [-1, -(2**31), 2**31 - 1, 100_000])
def test_a_table_whose_field_list_lies_outside_is_refused(distance: int) -> None:
    content = bytearray(info().content())
    root = struct.unpack_from("<I", content)[0]
    struct.pack_into("<i", content, root, distance)

    with pytest.raises(MalformedBlock):
        decode_block(manifest_of(bytes(content)))


def test_a_block_over_the_limit_is_not_looked_at() -> None:
    with pytest.raises(LimitExceeded):
        decode_block(bytes(BLOCK_BYTES_MAX + 1))


def test_a_block_over_the_limit_is_not_made() -> None:
    with pytest.raises(LimitExceeded):
        encode_block(block_with(SetInfo("x" * BLOCK_BYTES_MAX)))


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (info("text").text("text", b"x", length=2**32 - 1), "ends behind the block"),
        (info("text").text("text", b"abc", end=b"!"), "does not end with NUL"),
        (info("text").text("text", b"\xff\xfe"), "not UTF-8"),
        (info("text").text("text", "\ud83d".encode("utf-8", "surrogatepass")), "not UTF-8"),
        (info(None, "vector").vector("vector", length=2**32 - 1), "ends behind the block"),
        (info(None, "vector").vector("vector", "vector"), "ends before"),
        (info("event"), "ends"),
        (HandMadeBlock(SET_TRANSFORM).table("event", "event"), "ends before"),
        (HandMadeBlock(0).table("event"), "type"),
        (HandMadeBlock(SET_INFO, event="root"), "ends before"),
    ],
)
def test_a_part_that_lies_about_itself_is_refused(block: HandMadeBlock, problem: str) -> None:
    with pytest.raises(MalformedBlock, match=problem):
        decode_block(block.raw())


@pytest.mark.parametrize("missing", ["system_time", "event"])
def test_a_required_field_is_required(missing: str) -> None:
    content = bytearray(info().content())
    slot = {row.name: row.slot for row in table_of(MetadataBlock).fields}[missing]
    root = struct.unpack_from("<I", content)[0]
    vtable = root - struct.unpack_from("<i", content, root)[0]
    struct.pack_into("<H", content, vtable + 4 + 2 * slot, 0)

    with pytest.raises(MalformedBlock, match="is missing"):
        decode_block(manifest_of(bytes(content)))


@pytest.mark.parametrize("instant", [(2020, 0, 0, 0), (2020, 367, 0, 0), (2020, 1, 86_400, 0), (2020, 1, 0, 2**31)])
def test_a_time_out_of_range_is_refused(instant: tuple[int, int, int, int]) -> None:
    content = bytearray(info().content())
    at = content.index(struct.pack("<iHxxII", NOON.year, NOON.day_of_year, NOON.second_of_day, 0))
    struct.pack_into("<iHxxII", content, at, *instant)

    with pytest.raises(MalformedBlock, match="out of range"):
        decode_block(manifest_of(bytes(content)))


def test_a_hash_of_the_wrong_length_is_refused_by_field() -> None:
    block = HandMadeBlock(ADD_DATA).table("event", "hash").text("hash", b"\x16\x20short", end=b"")

    with pytest.raises(MalformedBlock, match=r"AddData\.prevCheckpoint"):
        decode_block(block.raw())


# Work is bounded by the size


def test_tables_that_nest_as_deep_as_the_reference_reads_are_read() -> None:
    block = block_with(SetDataSchema(schema=deep_schema(DEEPEST_LISTS)))

    assert decode_block(encode_block(block).raw).block == block


def test_one_level_deeper_is_neither_read_nor_written() -> None:
    with pytest.raises(LimitExceeded, match="deep"):
        encode_block(block_with(SetDataSchema(schema=deep_schema(DEEPEST_LISTS + 1))))


def test_tables_that_nest_without_end_are_refused() -> None:
    block = HandMadeBlock(SET_SCHEMA).table("event", None, "schema").table("schema", "fields").vector("fields", "field")
    block.table("field", "name", bytes([20]), "type0").text("name", b"a")
    for level in range(10_000):
        block.table(f"type{level}", bytes([20]), f"type{level + 1}")

    with pytest.raises(MalformedBlock, match="deep"):
        decode_block(block.table("type10000").raw())


def test_parts_that_share_their_bytes_cannot_multiply_the_work() -> None:
    """Twenty tables that each hold the next one four times: 4²⁰ tables in a few kilobytes."""
    block = HandMadeBlock(SET_SCHEMA).table("event", None, "schema").table("schema", "fields0")
    for level in range(20):
        block.vector(f"fields{level}", *[f"field{level}"] * 4).table(
            f"field{level}", "name", bytes([21]), f"struct{level}"
        )
        block.table(f"struct{level}", f"fields{level + 1}")

    with pytest.raises(MalformedBlock, match="overlap"):
        decode_block(block.vector("fields20").text("name", b"a").raw())


def test_a_writer_that_shares_its_strings_is_read_and_is_not_canonical() -> None:
    raw = info(None, "keywords").vector("keywords", "word", "word").text("word", b"same").raw()

    read = decode_block(raw)

    assert read.event == SetInfo(None, ("same", "same"))
    assert read.raw == raw
    assert not is_canonical(read)


# Other versions


@pytest.mark.parametrize(("version", "state"), [(0, "obsolete"), (1, "obsolete"), (3, "newer"), (2**31 - 1, "newer")])
def test_another_version_is_refused_by_its_number(version: int, state: str) -> None:
    raw = manifest_of(info().content(), version=version)

    for read in (decode_block, read_block_header):
        with pytest.raises(UnsupportedVersion, match=f"version {version} is {state}"):
            read(raw)


def test_a_manifest_of_something_else_is_refused_by_its_kind() -> None:
    with pytest.raises(MalformedBlock, match="something else") as caught:
        decode_block(manifest_of(info().content(), kind=0x400001))

    assert caught.value.found == "0x400001"


def test_a_block_laid_out_as_before_034_is_refused_with_a_hint() -> None:
    """Blocks of ODF 0.33 carry version 2 as well; here a push source without what its slots hold today."""
    block = HandMadeBlock(ADD_PUSH_SOURCE).table("event", "name").text("name", b"default")

    with pytest.raises(MalformedBlock) as caught:
        decode_block(block.raw())

    assert "0.34" in (caught.value.hint or "")


def test_an_event_of_a_later_version_is_kept_and_not_understood() -> None:
    raw = HandMadeBlock(14).table("event", "text").text("text", b"news").raw()

    read = decode_block(raw)

    assert read.raw == raw
    assert read.hash == physical_hash(raw)
    assert isinstance(read.event, UnknownEvent)
    assert read.event.type_id == 14
    assert not is_canonical(read)
    assert read_block_header(raw).event_type_id == 14


def test_a_later_kind_inside_a_known_event_makes_it_unknown() -> None:
    block = HandMadeBlock(SET_TRANSFORM).table("event", "inputs", bytes([9]), "transform")
    raw = block.vector("inputs").table("transform").raw()

    event = decode_block(raw).event

    assert isinstance(event, UnknownEvent)
    assert (event.type_id, "Transform 9" in event.reason) == (SET_TRANSFORM, True)


def test_a_later_enum_value_makes_its_event_unknown() -> None:
    raw = encode_block(block_with(SetDataSchema(schema=deep_schema(0)))).raw
    block = HandMadeBlock(SET_SCHEMA).table("event", None, "schema").table("schema", "fields").vector("fields", "field")
    block.table("field", "name", bytes([22]), "time").text("name", b"a").table("time", struct.pack("<h", 77))

    assert isinstance(decode_block(raw).event, SetDataSchema)
    assert decode_block(block.raw()).event == UnknownEvent(SET_SCHEMA, "TimeUnit 77 is not known to this version")


def test_an_unknown_event_is_shown_as_such_and_not_written() -> None:
    block = decode_block(HandMadeBlock(200).table("event").raw()).block

    assert to_plain(block)["event"]["typeId"] == 200
    assert "UnknownEvent" in write_block_manifest(block)
    with pytest.raises(MalformedBlock, match="event 200"):
        encode_block(block)


def test_fields_of_a_later_version_behind_the_known_ones_are_passed_over_and_kept() -> None:
    """ODF 0.38 appends the ODF schema to a read step: slot 1 of GeoJson."""
    block = HandMadeBlock(ADD_PUSH_SOURCE).table("event", "name", bytes([2]), "read", None, None, bytes([1]), "merge")
    block.text("name", b"s").table("read", "ddl", "schema").table("merge").vector("ddl", "a").text("a", b"a INT")
    raw = block.table("schema", "fields").vector("fields").raw()

    read = decode_block(raw)

    assert to_plain(read.event) == {
        "kind": "AddPushSource",
        "sourceName": "s",
        "read": {"kind": "GeoJson", "schema": ["a INT"]},
        "merge": {"kind": "Append"},
    }
    assert read.raw == raw
    assert not is_canonical(read)


# Attributes


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"1", b"{", b'{"a":NaN}', b'{"a":"\\ud83d"}', b"[" * 5000, b'{"a":' * 500]
)
def test_attributes_that_are_no_json_object_are_refused(text: bytes) -> None:
    block = HandMadeBlock(ADD_DATA).table("event", *[None] * 6, "extra").table("extra", "text").text("text", text)

    with pytest.raises(MalformedBlock, match="ExtraAttributes"):
        decode_block(block.raw())


@pytest.mark.parametrize("text", ['{"a":1.50}', '{"a":1E2}', '{"a":' + "9" * 40 + "}", '{"a":1e999}'])
def test_numbers_in_attributes_keep_their_spelling(text: str) -> None:
    block = encode_block(block_with(AddData(extra=ExtraAttributes(text))))

    assert decode_block(block.raw).event == AddData(extra=ExtraAttributes(text))
    assert is_canonical(block)
    assert to_plain(block.block)["event"]["extra"].keys() == {"a"}


def test_attributes_in_another_order_are_read_and_are_not_canonical() -> None:
    block = HandMadeBlock(ADD_DATA).table("event", *[None] * 6, "extra").table("extra", "text")
    read = decode_block(block.text("text", b'{"b":1, "a":2}').raw())

    assert not is_canonical(read)
    assert encode_block(read.block).block == read.block
    assert decode_block(encode_block(read.block).raw).event == AddData(extra=ExtraAttributes('{"a":2,"b":1}'))


# What cannot be written


@pytest.mark.parametrize(
    "event",
    [
        SetInfo("half \ud83d of a pair"),
        AddData(extra=ExtraAttributes("[]")),
        AddData(prev_offset=2**64),
        AddData(prev_offset=-1),
    ],
)
def test_a_value_without_a_form_in_bytes_is_refused(event: Any) -> None:
    with pytest.raises(MalformedInput):
        encode_block(block_with(event))


# Every bit counts


@pytest.mark.parametrize(
    "case", vectors("blocks.json")[:: len(vectors("blocks.json")) // 20], ids=lambda case: case["name"]
)
def test_any_flipped_bit_changes_the_hash(case: dict[str, str]) -> None:
    raw = bytes.fromhex(case["flatbuffers_hex"])

    hashes = {
        bytes(physical_hash(bytes([*raw[:at], raw[at] ^ 1 << bit, *raw[at + 1 :]])))
        for at in range(0, len(raw), 7)
        for bit in range(8)
    }

    assert bytes(physical_hash(raw)) not in hashes
