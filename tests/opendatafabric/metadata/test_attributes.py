"""Attributes as the reference spells them: the text decides the hash of a block."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import MalformedInput
from opendatafabric.limits import ATTRIBUTE_NUMBER_CHARS_MAX, ATTRIBUTES_DEPTH_MAX
from opendatafabric.metadata.attributes import ExtraAttributes, float_text, json_text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1.5, "1.5"),
        (0.0001, "0.0001"),
        (0.00001, "0.00001"),
        (0.000015, "0.000015"),
        (-0.000012345, "-0.000012345"),
        (9.999999999999999e-6, "9.999999999999999e-6"),
        (1e-6, "1e-6"),
        (1.5e-7, "1.5e-7"),
        (1e15, "1000000000000000.0"),
        (8.5e15, "8500000000000000.0"),
        (1e16, "1e+16"),
        (1.5e22, "1.5e+22"),
        (-1e100, "-1e+100"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
    ],
)
def test_floats_are_spelled_as_by_the_reference(number: float, text: str) -> None:
    assert float_text(number) == text
    assert json_text(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_float_reads_back(number: float) -> None:
    found = json.loads(float_text(number))

    assert (found, math.copysign(1.0, found)) == (number, math.copysign(1.0, number))
    assert isinstance(found, float)


def test_objects_are_compact_and_sorted_by_the_bytes_of_their_keys() -> None:
    value = {"b": [1, {"z": None, "a": True}], "é": "x", "Z": {}, "\U0001f680": [], "\uffff": ""}

    assert ExtraAttributes.from_mapping(value).attributes == (
        '{"Z":{},"b":[1,{"a":true,"z":null}],"é":"x","\uffff":"","\U0001f680":[]}'
    )


def test_only_what_must_be_escaped_is() -> None:
    assert json_text('"\\\b\f\n\r\t\x01\x1f/\x7fé🚀\u2028') == '"\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f/\x7fé🚀\u2028"'


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_json_has_no_number_for_is_null(value: float) -> None:
    assert json_text([value]) == "[null]"


@pytest.mark.parametrize("number", [2**64 - 1, -(2**63), 0])
def test_integers_of_64_bits_are_taken(number: int) -> None:
    assert ExtraAttributes.from_mapping({"a": number}).as_mapping() == {"a": number}


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, b"x", {1, 2}, object(), {1: 2}, "\ud83d", {"\ud83d": 1}])
def test_what_does_not_fit_is_refused(value: Any) -> None:
    with pytest.raises(MalformedInput):
        ExtraAttributes.from_mapping({"a": value})


def test_nesting_ends_at_the_limit() -> None:
    fits: Any = 1
    for _ in range(ATTRIBUTES_DEPTH_MAX - 1):
        fits = [fits]

    assert ExtraAttributes.from_mapping({"a": fits}).as_mapping() == {"a": fits}
    with pytest.raises(MalformedInput, match="deep"):
        ExtraAttributes.from_mapping({"a": [fits]})


@pytest.mark.parametrize("text", ["1.50", "1E2", "1e+2", "-0", "0.10", "9" * 40, "1e999"])
def test_a_number_of_a_stored_block_keeps_its_spelling(text: str) -> None:
    stored = ExtraAttributes(f'{{"a":{text}}}')

    assert stored.canonical() == stored


def test_the_canonical_form_sorts_and_drops_what_is_overridden() -> None:
    assert ExtraAttributes('{ "b": 1.0, "a": 1, "a": 2 }').canonical() == ExtraAttributes('{"a":2,"b":1.0}')


def test_a_number_no_float_holds_is_shown_as_its_text() -> None:
    assert ExtraAttributes('{"a":1e999,"b":-1e999}').as_mapping() == {"a": "1e999", "b": "-1e999"}


def test_a_number_without_end_is_refused() -> None:
    digits = "9" * ATTRIBUTE_NUMBER_CHARS_MAX

    assert ExtraAttributes(f'{{"a":{digits}}}').as_mapping() == {"a": int(digits)}
    with pytest.raises(MalformedInput, match="too long a number"):
        ExtraAttributes(f'{{"a":{digits}9}}').as_mapping()


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", '{"a":NaN}', '{"a":-Infinity}', "{'a':1}", '{"a":01}', '{"a":"\x01"}', "[" * 10_000]
)
def test_text_that_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(MalformedInput, match="JSON"):
        ExtraAttributes(text).as_mapping()
