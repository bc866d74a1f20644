"""Golden blocks of the reference: bytes, hashes and text in both directions."""

from __future__ import annotations

from typing import Any

import pytest

from opendatafabric.codec.block_codec import decode_block, encode_block, is_canonical, read_block_header
from opendatafabric.codec.yaml_codec import (
    read_block_manifest,
    read_snapshot,
    read_snapshots,
    write_block_manifest,
    write_snapshot,
)
from opendatafabric.errors import MalformedInput
from tests.for_every import for_every
from tests.vectors.load import vectors

BLOCKS = [pytest.param(case, id=case["name"]) for case in vectors("blocks.json")]
REJECTED = [pytest.param(case, id=case["name"]) for case in vectors("blocks_rejected.json")]
SNAPSHOTS = [pytest.param(case, id=case["name"]) for case in vectors("snapshots.json")]


@for_every(BLOCKS)
def test_stored_bytes_and_text_say_the_same_block(case: dict[str, Any]) -> None:
    assert decode_block(bytes.fromhex(case["flatbuffers_hex"])).block == read_block_manifest(case["yaml"])


@for_every(BLOCKS)
def test_a_block_is_written_as_the_reference_writes_it(case: dict[str, Any]) -> None:
    encoded = encode_block(read_block_manifest(case["yaml"]))

    assert encoded.raw.hex() == case["flatbuffers_hex"]
    assert str(encoded.hash) == case["block_hash"]


@for_every(BLOCKS)
def test_the_text_of_a_block_is_the_text_of_the_reference(case: dict[str, Any]) -> None:
    block = decode_block(bytes.fromhex(case["flatbuffers_hex"]))

    assert write_block_manifest(block.block) == case.get("yaml_canonical", case["yaml"])
    assert is_canonical(block)


@for_every(BLOCKS)
def test_the_header_is_read_without_the_event(case: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["flatbuffers_hex"])
    block = decode_block(raw).block

    header = read_block_header(raw)

    assert (header.prev_block_hash, header.sequence_number, header.system_time) == (
        block.prev_block_hash,
        block.sequence_number,
        block.system_time,
    )


@for_every(REJECTED)
def test_a_block_the_reference_refuses_is_refused_with_its_place(case: dict[str, Any]) -> None:
    with pytest.raises(MalformedInput) as caught:
        read_block_manifest(case["yaml"])

    assert "line" in caught.value.message or "no manifest" in caught.value.message


@for_every(SNAPSHOTS)
def test_snapshots_are_read_and_written_as_by_the_reference(case: dict[str, Any]) -> None:
    canonical = case.get("yaml_canonical", case["yaml"])
    multi = case.get("multi_document", False)

    def read_and_write() -> str | list[str]:
        if multi:
            return [write_snapshot(snapshot) for snapshot in read_snapshots(case["yaml"])]
        return write_snapshot(read_snapshot(case["yaml"]))

    if case["ok"]:
        assert read_and_write() == canonical
    else:
        with pytest.raises(MalformedInput):
            read_and_write()
