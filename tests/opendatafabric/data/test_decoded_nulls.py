"""Nulls under nullable structs: hashes that depend on what the reference's decoder leaves in its buffers.

The expected hashes were made by the libraries that the reference hashes with (parquet 57.3, arrow-digest 57.0), from
the very files that are written here.
"""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.data.logical_hash import logical_hash_parquet

Case = tuple[pa.Table, dict[str, Any]]
NUMBERS: list[Any] = [{"a": 1}, None, {"a": None}, {"a": 4}, {"a": None}, None, {"a": 7}, {"a": None}]
TEXTS: list[Any] = [{"a": None}, None, {"a": "x"}, {"a": "long enough to lie elsewhere"}, {"a": None}]


def nested(data_type: pa.DataType, rows: list[Any], **options: Any) -> Case:
    return pa.table({"s": pa.array(rows, pa.struct([("a", data_type)]))}), options


def required_under_two_structs() -> Case:
    inner = pa.struct([pa.field("x", pa.int16(), nullable=False)])
    rows = [{"m": {"x": 5}}, {"m": None}, None, {"m": {"x": 6}}, None, {"m": None}, {"m": {"x": 7}}]
    return pa.table({"s": pa.array(rows, pa.struct([("m", inner)]))}), {"row_group_size": 4}


def int96_in_two_units() -> Case:
    seconds = pa.array([0, 10**12 + 1, None], pa.timestamp("s"))
    microseconds = pa.array([5, None, 10**15], pa.timestamp("us", "UTC"))
    return pa.table({"s": seconds, "u": microseconds}), {"use_deprecated_int96_timestamps": True}


MANY: list[Any] = [None if n % 7 == 0 else {"a": None if n % 5 == 0 else n} for n in range(10_003)]
CASES: dict[str, tuple[Case, str]] = {
    "numbers": (
        nested(pa.int64(), NUMBERS),
        "c731a1f053eeced9e2c2513e23eacd9ac96735bd6f5454ccec43c63ca5563f05",
    ),
    "numbers in row groups of 3": (
        nested(pa.int64(), NUMBERS, row_group_size=3),
        "4fe077b064fe7cd887efe1de2cdc0f8f2867b2abeec220a26135881748d25ed5",
    ),
    "text": (
        nested(pa.string(), TEXTS),
        "df709f539b7e2ca01eda6503c65e456efb23d93c60e4de3eb90ee7204dd583e4",
    ),
    "text as views": (
        nested(pa.string_view(), TEXTS),
        "bb03fb4ba388dcbb025cd55a2bc1b6975148da78a4dfd1dd1da20a9972552d50",
    ),
    "booleans": (
        nested(pa.bool_(), [{"a": True}, None, {"a": None}, {"a": False}]),
        "1ce01c46890b5d616bda6930e442c5dfaa34b04aa5ee24e26204726056e1a264",
    ),
    "lists": (
        nested(pa.list_(pa.int8()), [{"a": [1]}, None, {"a": None}, {"a": []}]),
        "1192007a859eb6ecb87bf7d286b638beba20742d460d5058258e2fd3b664ff49",
    ),
    "lists of fixed length": (
        nested(pa.list_(pa.int8(), 2), [{"a": [1, 2]}, None, {"a": None}, {"a": [3, None]}]),
        "2f01be1b4ed181f5f732b3d92efbf211694298468032964aa53beb1c9340b0c5",
    ),
    "legacy timestamps": (
        nested(
            pa.timestamp("ms", "UTC"),
            [{"a": 1000}, None, {"a": None}, {"a": None}],
            use_deprecated_int96_timestamps=True,
        ),
        "b9f675c98e7afda281c1816d1923cf02c2bb65131052ced2030645439f265a92",
    ),
    "more than one batch": (
        nested(pa.int32(), MANY),
        "3e5e8caceba70f7e979a155b9cb9c06c2cc3beda82cc59bcc8b4f9e41c1b92b1",
    ),
    "a required field under two structs": (
        required_under_two_structs(),
        "53d615c20829bb23c6de97c0793b4e1f03d53308cd70356301b24e43f806af1c",
    ),
    "legacy timestamps in two units": (
        int96_in_two_units(),
        "72fdb02af6fe8403f9497d7fa25947c0a685d4fc95dad11861809c83efeb30d1",
    ),
}


def as_file(case: Case) -> io.BytesIO:
    table, options = case
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file


@pytest.mark.parametrize("name", CASES)
def test_values_under_nulls_are_those_of_the_reference(name: str) -> None:
    case, expected = CASES[name]
    assert logical_hash_parquet(as_file(case)).digest.hex() == expected


def test_row_groups_matter_only_there() -> None:
    whole, parts = (as_file(nested(pa.int64(), NUMBERS, row_group_size=rows)) for rows in (100, 3))
    assert logical_hash_parquet(whole) != logical_hash_parquet(parts)
    required = pa.table({"s": pa.array([{"a": 1}, {"a": None}], pa.struct([("a", pa.int64())]))})
    whole, parts = (as_file((required, {"row_group_size": rows})) for rows in (100, 1))
    assert logical_hash_parquet(whole) == logical_hash_parquet(parts)
