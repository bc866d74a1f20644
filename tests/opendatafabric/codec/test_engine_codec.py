"""Messages of the engine protocol: there and back, and refused when they are not what they should be."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.codec.engine_codec import decode_grpc, decode_message, encode_grpc, encode_message
from opendatafabric.codec.flatbuffers_write import write_table
from opendatafabric.codec.tables import table_of
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.errors import LimitExceeded, OdfError, ProtocolViolation, UnsupportedVersion
from opendatafabric.instant import Instant
from opendatafabric.ipfs.protobuf import bytes_field, number_field
from opendatafabric.limits import MESSAGE_BYTES_MAX
from opendatafabric.metadata import engine_messages
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.engine_messages import (
    DatasetVocabulary,
    EngineMessage,
    RawQueryRequest,
    RawQueryResponseInternalError,
    RawQueryResponseInvalidQuery,
    RawQueryResponseProgress,
    RawQueryResponseRoot,
    RawQueryResponseSuccess,
    TransformRequest,
    TransformRequestInput,
    TransformResponseInternalError,
    TransformResponseInvalidQuery,
    TransformResponseProgress,
    TransformResponseRoot,
    TransformResponseSuccess,
    Watermark,
)
from opendatafabric.metadata.events import DisablePollingSource
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.metadata.transform import SqlQueryStep, TransformSql
from tests.strategies import edited, values_of
from tests.vectors.load import FOLDER

ID = DatasetId.from_public_key(bytes(32))
NOON = Instant.from_rfc3339("2020-01-01T12:00:00Z")
VOCABULARY = DatasetVocabulary("offset", "op", "system_time", "event_time")
QUERY = TransformSql("spark", queries=(SqlQueryStep(query="select 1"),))
INPUT = TransformRequestInput(
    ID,
    DatasetAlias.from_text("kamu/input"),
    "in",
    VOCABULARY,
    OffsetInterval(0, 9),
    ("/in/0.parquet", "/in/1.parquet"),
    "/in/schema.parquet",
    (Watermark(NOON, NOON),),
)
REQUEST = TransformRequest(
    ID, DatasetAlias.from_text("output"), NOON, VOCABULARY, QUERY, (INPUT,), 10, None, "/out/checkpoint", "/out/data"
)
MESSAGES: list[EngineMessage] = [
    REQUEST,
    RawQueryRequest(("/in/0.parquet",), QUERY, "/out/data"),
    RawQueryResponseRoot(RawQueryResponseProgress()),
    RawQueryResponseRoot(RawQueryResponseSuccess(0)),
    RawQueryResponseRoot(RawQueryResponseInvalidQuery("no such column")),
    RawQueryResponseRoot(RawQueryResponseInternalError("broken", "at line 1")),
    TransformResponseRoot(TransformResponseProgress()),
    TransformResponseRoot(TransformResponseSuccess(OffsetInterval(0, 0), NOON)),
    TransformResponseRoot(TransformResponseSuccess()),
    TransformResponseRoot(TransformResponseInvalidQuery("no such column")),
    TransformResponseRoot(TransformResponseInternalError("broken")),
]
KINDS = (RawQueryRequest, RawQueryResponseRoot, TransformRequest, TransformResponseRoot)
MODEL: dict[str, Any] = json.loads((FOLDER / "metadata-model.json").read_text())
TYPES = {
    name: kind
    for name, kind in vars(engine_messages).items()
    if isinstance(kind, type) and kind.__module__ == engine_messages.__name__
}


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_is_read_as_it_was_written(message: EngineMessage) -> None:
    assert decode_message(encode_message(message), type(message)) == message


@given(st.one_of([values_of(kind) for kind in KINDS]))
def test_any_message_comes_back_from_its_grpc_message(message: EngineMessage) -> None:
    assert decode_grpc(encode_grpc(message), type(message)) == message


@given(st.data(), st.sampled_from(MESSAGES))
def test_no_bytes_do_harm(data: st.DataObject, message: EngineMessage) -> None:
    damaged = data.draw(edited(encode_grpc(message)))
    with contextlib.suppress(ProtocolViolation, UnsupportedVersion, LimitExceeded):
        decode_grpc(damaged, type(message))


def test_the_grpc_message_is_one_field_of_bytes() -> None:
    flatbuffer = encode_message(RawQueryResponseRoot(RawQueryResponseProgress()))
    assert (
        encode_grpc(RawQueryResponseRoot(RawQueryResponseProgress())) == b"\x0a" + bytes([len(flatbuffer)]) + flatbuffer
    )


def test_of_a_field_given_twice_the_last_one_counts_and_others_are_passed_over() -> None:
    old, new = (RawQueryResponseRoot(RawQueryResponseInvalidQuery(text)) for text in ("old", "new"))
    assert decode_grpc(encode_grpc(old) + encode_grpc(new) + number_field(7, 5), RawQueryResponseRoot) == new


@pytest.mark.parametrize("data", [b"", number_field(1, 5), b"\x0a\x05ab", bytes_field(2, b"other")])
def test_a_grpc_message_without_a_flatbuffer_breaks_the_protocol(data: bytes) -> None:
    with pytest.raises(ProtocolViolation, match="TransformRequest"):
        decode_grpc(data, TransformRequest)


@pytest.mark.parametrize("name", sorted(TYPES))
def test_a_message_has_the_fields_and_slots_of_the_schema(name: str) -> None:
    assert [(row.name, row.slot, row.optional) for row in table_of(TYPES[name]).fields] == [
        (field["name"], field["slot"], field["optional"]) for field in MODEL["tables"][name]["fields"]
    ]


@pytest.mark.parametrize("length", range(0, 64, 3))
def test_a_cut_message_breaks_the_protocol(length: int) -> None:
    with pytest.raises(ProtocolViolation, match="TransformRequest"):
        decode_message(encode_message(REQUEST)[:length], TransformRequest)


def test_a_message_of_another_type_is_no_message() -> None:
    block = write_table(MetadataBlock(NOON, None, 0, DisablePollingSource()))

    with pytest.raises(OdfError):
        decode_message(block, TransformRequest)


def test_a_response_of_a_later_kind_is_refused_as_newer() -> None:
    response = bytearray(encode_message(TransformResponseRoot(TransformResponseProgress())))
    response[_type_byte(response)] = 99

    with pytest.raises(UnsupportedVersion, match="TransformResponse 99"):
        decode_message(bytes(response), TransformResponseRoot)


def test_a_message_over_the_limit_is_not_read() -> None:
    with pytest.raises(LimitExceeded):
        decode_message(bytes(MESSAGE_BYTES_MAX + 1), RawQueryRequest)


def _type_byte(response: bytearray) -> int:
    """Where the number of the union member lies: the two messages that differ only in it tell."""
    other = encode_message(TransformResponseRoot(TransformResponseSuccess()))
    return next(index for index, (here, there) in enumerate(zip(response, other, strict=False)) if here != there)
