"""Laws of the block codecs over any block: there and back in every form, and no harm from any bytes."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opendatafabric.codec.block_codec import decode_block, encode_block, is_canonical, read_block_header
from opendatafabric.codec.yaml_codec import (
    read_block_manifest,
    read_event_manifest,
    read_snapshot,
    to_plain,
    write_block_manifest,
    write_event_manifest,
    write_snapshot,
)
from opendatafabric.errors import OdfError
from opendatafabric.metadata.attributes import ExtraAttributes
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.events import MetadataEvent
from opendatafabric.metadata.snapshot import DatasetSnapshot
from tests.strategies import attributes, blocks, edited, events, json_of, snapshots
from tests.vectors.load import vectors

NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""What JSON may hold as it is, and a YAML reader takes for a control character or a line break."""

SAMPLES = [bytes.fromhex(case["flatbuffers_hex"]) for case in vectors("blocks.json")[::9]]


@given(blocks())
def test_a_block_comes_back_from_its_bytes(block: MetadataBlock) -> None:
    hashed = encode_block(block)

    read = decode_block(hashed.raw)

    assert read.block == block
    assert read.hash == hashed.hash
    assert is_canonical(read)


@given(blocks())
def test_a_block_comes_back_from_its_yaml(block: MetadataBlock) -> None:
    assert read_block_manifest(write_block_manifest(block)) == block


@given(blocks())
def test_a_block_comes_back_from_its_json(block: MetadataBlock) -> None:
    text = json.dumps({"kind": "MetadataBlock", "version": 2, "content": to_plain(block)}, ensure_ascii=False)

    assert read_block_manifest(NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)) == block


@given(events())
def test_an_event_comes_back_from_its_yaml(event: MetadataEvent) -> None:
    assert read_event_manifest(write_event_manifest(event)) == event


@given(snapshots())
def test_a_snapshot_comes_back_from_its_yaml(snapshot: DatasetSnapshot) -> None:
    assert read_snapshot(write_snapshot(snapshot)) == snapshot


@given(attributes)
def test_attributes_are_canonical_json(extra: ExtraAttributes) -> None:
    assert extra.canonical() == extra
    assert ExtraAttributes.from_mapping(json_of(extra)) == extra


@settings(max_examples=150)
@given(st.sampled_from(SAMPLES).flatmap(edited))
def test_damaged_bytes_are_read_or_refused_and_never_crash(raw: bytes) -> None:
    try:
        read = decode_block(raw)
    except OdfError:
        return
    is_canonical(read)
    to_plain(read.block)
    write_block_manifest(read.block)
    header = read_block_header(raw)
    assert header.sequence_number == read.sequence_number


@given(st.binary(max_size=200))
def test_random_bytes_are_no_block(raw: bytes) -> None:
    with pytest.raises(OdfError):
        decode_block(raw)


@settings(max_examples=100)
@given(st.sampled_from(vectors("blocks.json")[::9]), st.data())
def test_damaged_text_is_read_or_refused_with_its_place(case: dict[str, str], data: st.DataObject) -> None:
    text = data.draw(edited(case["yaml"].encode())).decode(errors="replace")

    message = refusal(text)

    assert message is None or "line" in message or "manifest" in message


def refusal(text: str) -> str | None:
    """What the reader says against ``text``, if anything."""
    try:
        read_block_manifest(text)
    except OdfError as error:
        return error.message
    return None
