"""Canonical JSON against vectors, and laws of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.canonical_json import ascii_json, canonical_json, read_json_tokens
from opendatafabric.errors import MalformedInput
from opendatafabric.multihash import physical_hash
from opendatafabric.query_limits import JSON_DEPTH_MAX

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("[]", "f1620ca4510738395af1429224dd785675309c344b2b549632e20275c69b15ed1d210"),
        (
            '{ "dataFormat": "JsonAoS", "data":[{"a":1e+21,"b":1e-7,"c":0.1,"d":123456789.123,"e":1e+300,"f":-0.0,'
            '"g":3.0,"h":1e+16}]}',
            "f162023bf57fb44c5524658c1395b20d877c91e7136424f78884d781562c129c23e4c",
        ),
    ],
)
def test_hashes_are_those_of_the_reference(text: str, digest: str) -> None:
    assert str(physical_hash(canonical_json(read_json_tokens(text)))) == digest


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ('{"b": 1, "a": [ ]}', '{"a":[],"b":1}'),
        ("[1.0, 1.00, 1E5, -0, 10000000000000000000000]", "[1.0,1.00,1E5,-0,10000000000000000000000]"),
        ('["é", "😀", "\x7f"]', r'["\u00e9","\ud83d\ude00","\u007f"]'),
        (r'["/", "\u0041\n\u0001\"\\"]', r'["/","A\n\u0001\"\\"]'),
        ('{"é": {}, "z": null, "a": [true, false]}', r'{"a":[true,false],"z":null,"\u00e9":{}}'),
    ],
)
def test_the_form_is_one(text: str, canonical: str) -> None:
    assert canonical_json(read_json_tokens(text)).decode() == canonical


@given(VALUES)
def test_what_is_canonical_stays_so_and_means_the_same(value: Any) -> None:
    once = canonical_json(read_json_tokens(json.dumps(value)))
    assert canonical_json(read_json_tokens(once)) == once
    assert json.loads(once) == value
    assert once.isascii()


@given(VALUES)
def test_text_that_is_sorted_and_without_blanks_needs_only_be_made_ascii(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    try:
        given_bytes = text.encode()
    except UnicodeEncodeError:
        return
    assert ascii_json(given_bytes) == canonical_json(read_json_tokens(text))


@pytest.mark.parametrize("text", ["", "{", '{"a":1,"a":2}', "NaN", "[Infinity]", "[" * 100_000, "'x'"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(MalformedInput, match="no JSON"):
        read_json_tokens(text)


def test_what_is_nested_too_deep_is_refused() -> None:
    def nested(levels: int) -> Any:
        return read_json_tokens("[" * levels + "]" * levels)

    assert canonical_json(nested(JSON_DEPTH_MAX + 1))
    with pytest.raises(MalformedInput, match="too deep"):
        canonical_json(nested(JSON_DEPTH_MAX + 2))
