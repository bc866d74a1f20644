"""Numbers in quotes."""

from __future__ import annotations

import math

import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.readers.quoted_numbers import has_numbers, unquoted

JSON = st.recursive(st.none() | st.booleans() | st.text() | st.floats(allow_nan=False), st.lists)


@given(st.integers(-(2**63), 2**64 - 1))
def test_any_integer_comes_out_of_its_quotes(number: int) -> None:
    assert unquoted(str(number), pa.int64()) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_real_comes_out_of_its_quotes(number: float) -> None:
    assert unquoted(repr(number), pa.float64()) == number


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "1_0", " 1", "", "1e999"])
def test_what_json_has_no_number_for_stays_text(text: str) -> None:
    assert unquoted(text, pa.float64()) == text


@given(JSON, st.sampled_from([pa.int32(), pa.list_(pa.float32()), pa.struct([("a", pa.int8())]), pa.string()]))
def test_whatever_comes_out_can_be_written_as_json(value: object, data_type: pa.DataType) -> None:
    orjson.dumps(unquoted(value, data_type))


def test_members_of_structs_are_unquoted_by_name_and_others_left_out() -> None:
    assert unquoted({"a": "1", "b": "1", "c": "1"}, pa.struct([("a", pa.int8()), ("b", pa.string())])) == {
        "a": 1,
        "b": "1",
    }


def test_a_bool_is_no_number() -> None:
    assert unquoted(True, pa.int8()) is True
    assert math.isclose(unquoted(0.5, pa.int8()), 0.5)


@pytest.mark.parametrize(
    ("data_type", "expected"),
    [(pa.string(), False), (pa.list_(pa.struct([("a", pa.uint8())])), True), (pa.struct([("a", pa.date32())]), False)],
    ids=str,
)
def test_numbers_are_found_at_any_depth(data_type: pa.DataType, expected: bool) -> None:
    assert has_numbers(data_type) is expected
