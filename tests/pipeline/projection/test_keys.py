"""Which keys are equal, and that their bytes say exactly that."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import MalformedData
from pipeline.projection.keys import Keys, hashes_of, keys_of, last_rows, rows_of

NAN = float("nan")
VALUES = {
    "bigint": (pa.int64(), [1, -1, 0, None]),
    "unsigned": (pa.uint64(), [2**64 - 1, 0, None]),
    "boolean": (pa.bool_(), [True, False, None]),
    "text": (pa.string(), ["", "a", "ab", "b", "é", "a\0", None]),
    "bytes": (pa.binary(), [b"", b"\0", b"\0\0", None]),
    "fixed": (pa.binary(2), [b"ab", b"ba", None]),
    "date": (pa.date32(), [date(1969, 12, 31), date(1970, 1, 1), None]),
    "day": (pa.date64(), [date(1969, 12, 31), date(1970, 1, 1), None]),
    "time": (pa.timestamp("ms", "UTC"), [datetime(1970, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC), None]),
    "clock": (pa.time64("us"), [0, 1, None]),
    "decimal": (pa.decimal128(20, 2), [Decimal("1.00"), Decimal("-1.00"), Decimal("0.00"), None]),
    "large": (pa.decimal256(50, 2), [Decimal("1.00"), Decimal("-1.00"), None]),
    "double": (pa.float64(), [0.0, 1.5, NAN, float("inf"), None]),
    "float": (pa.float32(), [0.0, 1.5, NAN, None]),
    "half": (pa.float16(), [np.float16(0), np.float16(1.5), None]),
    "list": (pa.list_(pa.string()), [[], ["a"], ["a", "b"], ["ab"], [None], [""], None]),
    "pair": (pa.struct([("a", pa.int32()), ("b", pa.string())]), [{"a": 1, "b": "x"}, {"a": None, "b": "x"}, None]),
    "nothing": (pa.null(), [None]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", None]),
}
TWO_TEXTS = st.lists(st.tuples(st.text(max_size=3) | st.none(), st.text(max_size=3) | st.none()), max_size=8)


def encoded(values: list[Any], data_type: pa.DataType) -> list[bytes]:
    found: list[bytes] = keys_of(pa.table({"k": pa.array(values, data_type)}), ["k"]).encoded.to_pylist()
    return found


@pytest.mark.parametrize("name", VALUES)
def test_different_values_are_different_keys_and_equal_ones_equal(name: str) -> None:
    data_type, values = VALUES[name]
    found = encoded([*values, *values], data_type)
    assert found[: len(values)] == found[len(values) :]
    assert len({*found}) == len(values)


@pytest.mark.parametrize("name", VALUES)
def test_a_part_of_a_column_has_the_same_keys(name: str) -> None:
    data_type, values = VALUES[name]
    column = pa.array([*values, *values], data_type)
    part = keys_of(pa.table({"k": column.slice(1)}), ["k"])
    whole = keys_of(pa.table({"k": column}), ["k"])
    assert part.encoded.to_pylist() == whole.encoded.to_pylist()[1:]
    assert part.hashes.tolist() == whole.hashes.tolist()[1:]


@pytest.mark.parametrize("data_type", [pa.float16(), pa.float32(), pa.float64(), pa.list_(pa.float64())])
def test_zeros_of_both_signs_are_one_key_and_so_are_all_nans(data_type: pa.DataType) -> None:
    other_nan = np.array([0x7FF8_0000_0000_0001], np.uint64).view(np.float64)[0]
    values: list[Any] = [0.0, -0.0, NAN, -other_nan]
    if pa.types.is_list(data_type):
        values = [[value] for value in values]
    elif pa.types.is_float16(data_type):
        values = [np.float16(value) for value in values]
    zero, minus_zero, nan, minus_nan = encoded(values, data_type)
    assert (zero == minus_zero, nan == minus_nan, zero == nan) == (True, True, False)


@pytest.mark.parametrize("layout", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_the_layout_of_text_makes_no_difference(layout: pa.DataType) -> None:
    texts = ["a", "", None]
    assert encoded(texts, layout) == encoded(texts, pa.string())


def test_any_null_in_a_key_is_told() -> None:
    records = pa.table({"a": [1, None, 1], "b": ["x", "x", None]})
    assert keys_of(records, ["a", "b"]).has_null.tolist() == [False, True, True]


def test_types_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(MalformedData, match="cannot be compared"):
        keys_of(pa.table({"k": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))}), ["k"])


@given(pairs=TWO_TEXTS)
def test_texts_do_not_run_into_each_other(pairs: list[tuple[str | None, str | None]]) -> None:
    records = pa.table({name: pa.array([pair[at] for pair in pairs], pa.string()) for at, name in enumerate("ab")})
    assert len({*keys_of(records, ["a", "b"]).encoded.to_pylist()}) == len({*pairs})


@given(keys=st.lists(st.binary(max_size=20), max_size=20), long=st.binary(min_size=250, max_size=600))
def test_a_hash_depends_on_its_key_alone(keys: list[bytes], long: bytes) -> None:
    together = hashes_of(pa.array([*keys, long], pa.large_binary()))
    alone = [int(hashes_of(pa.array([key], pa.large_binary()))[0]) for key in [*keys, long]]
    assert together.tolist() == alone


def test_hashes_are_the_same_on_any_machine() -> None:
    keys = [b"", b"a", b"12345678", b"123456789", b"x" * 300]
    assert hashes_of(pa.array(keys, pa.large_binary())).tolist() == KNOWN


def test_hashes_of_neighbours_spread() -> None:
    keys = keys_of(pa.table({"k": np.arange(100_000)}), ["k"])
    buckets = np.bincount((keys.hashes >> np.uint64(54)).astype(np.int64), minlength=1024)
    assert len(np.unique(keys.hashes)) == 100_000
    assert buckets.max() < 200


@given(keys=st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), max_size=12), spread=st.integers(1, 5))
def test_the_last_row_of_each_key_is_found_though_hashes_collide(keys: list[bytes], spread: int) -> None:
    array = pa.array(keys, pa.large_binary())
    hashes = np.array([key[0] % spread for key in keys], np.uint64)
    rows = last_rows(hashes, array)
    assert {keys[row]: row for row in rows} == {key: row for row, key in enumerate(keys)}
    assert (np.diff(hashes[rows].astype(np.int64)) >= 0).all()


@given(
    asked=st.lists(st.sampled_from([b"a", b"b", b"c", b"d", b"e"]), max_size=12),
    known=st.sets(st.sampled_from([b"a", b"b", b"c", b"d"])),
    spread=st.integers(1, 5),
)
def test_a_key_is_found_among_others_though_hashes_collide(asked: list[bytes], known: set[bytes], spread: int) -> None:
    among = sorted(known, key=lambda key: (key[0] % spread, key))
    hashes = np.array([key[0] % spread for key in asked], np.uint64)
    found = rows_of(
        Keys(pa.array(asked, pa.large_binary()), hashes, np.zeros(len(asked), bool)),
        np.arange(len(asked)),
        among=pa.array(among, pa.large_binary()),
        among_hashes=np.array([key[0] % spread for key in among], np.uint64),
    )
    assert found.tolist() == [among.index(key) if key in known else -1 for key in asked]


KNOWN = [0x0, 0xB283085A8C486789, 0xF0F5AB1C05EAAF80, 0x50EC94269F208BB1, 0x1546D9CAC139B512]
