"""Varints: one encoding for every number."""

from __future__ import annotations

import multiformats
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.limits import VARINT_BYTES_MAX
from opendatafabric.varint import decode_varint, encode_varint

LARGEST = 2 ** (7 * VARINT_BYTES_MAX) - 1


@given(st.integers(0, LARGEST), st.binary(max_size=4), st.binary(max_size=4))
def test_a_number_is_read_where_it_was_written(number: int, before: bytes, after: bytes) -> None:
    encoded = encode_varint(number)
    assert decode_varint(before + encoded + after, len(before)) == (number, len(before) + len(encoded))


@given(st.integers(0, LARGEST))
def test_another_implementation_writes_the_same(number: int) -> None:
    assert encode_varint(number) == multiformats.varint.encode(number)


@given(st.binary(max_size=12))
def test_any_bytes_are_refused_or_the_only_encoding_of_their_number(data: bytes) -> None:
    try:
        number, position = decode_varint(data)
    except MalformedIdentifier:
        return
    assert encode_varint(number) == data[:position]


@pytest.mark.parametrize(
    "data",
    [b"", b"\x80", b"\xff\xff", b"\x80\x00", b"\xed\x81\x00", b"\x80" * 9 + b"\x01", b"\xff" * 10, b"\x81" * 1_000_000],
    ids=lambda data: f"{data[:4].hex()}-{len(data)}",
)
def test_truncated_long_and_padded_encodings_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedIdentifier):
        decode_varint(data)


def test_nine_bytes_are_read_and_ten_are_not() -> None:
    assert decode_varint(encode_varint(LARGEST)) == (LARGEST, VARINT_BYTES_MAX)
    with pytest.raises(MalformedIdentifier):
        decode_varint(encode_varint(LARGEST + 1))


def test_a_position_behind_the_end_is_refused() -> None:
    with pytest.raises(MalformedIdentifier):
        decode_varint(b"\x01", 7)


def test_a_negative_number_is_our_own_mistake() -> None:
    with pytest.raises(ValueError, match="cannot hold -1"):
        encode_varint(-1)
