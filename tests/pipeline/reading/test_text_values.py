"""Values as text."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from opendatafabric.errors import UnsupportedOperation
from pipeline.reading.text_values import json_rows, readable, text_rows

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("array", "value"),
    [
        (pa.array([NOON], pa.timestamp("ms", "UTC")), "2024-01-31T12:00:00Z"),
        (pa.array([NOON], pa.timestamp("s", "Europe/Kyiv")), "2024-01-31T12:00:00Z"),
        (pa.array([1], pa.timestamp("ns")), "1970-01-01T00:00:00.000000001"),
        (pa.array([date(2024, 1, 31)]), "2024-01-31"),
        (pa.array([time(1, 2, 3)]), "01:02:03"),
        (pa.array([timedelta(seconds=1)]), "0:00:01"),
        (pa.array([Decimal("1.20")]), "1.20"),
        (pa.array([b"\x00\xff"]), "00ff"),
        (pa.array([float("nan")]), None),
        (pa.array([float("inf")]), None),
        (pa.array([0.5]), 0.5),
        (pa.array([0.1, None], pa.float32()).slice(0, 1), 0.1),
        (pa.array([Decimal("0.00000001")]), "0.00000001"),
        (pa.array([[("a", NOON)]], pa.map_(pa.string(), pa.timestamp("ms", "UTC"))), {"a": "2024-01-31T12:00:00Z"}),
        (pa.array([True]), True),
        (pa.array([2**60]), 2**60),
        (pa.array([None], pa.int8()), None),
        (pa.array(["ї"], pa.string_view()), "ї"),
        (pa.array([{"at": NOON, "list": [1, None]}]), {"at": "2024-01-31T12:00:00Z", "list": [1, None]}),
    ],
)
def test_a_value_becomes_one_that_json_knows(array: pa.Array, value: Any) -> None:
    assert list(json_rows(pa.table({"x": array}))) == [{"x": value}]


def test_two_columns_of_one_name_are_no_json_object() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    assert list(text_rows(table)) == [(1, 2)]
    with pytest.raises(UnsupportedOperation, match="one name"):
        list(json_rows(table))


def test_nanoseconds_inside_others_are_refused() -> None:
    table = pa.table({"x": pa.array([[1]], pa.list_(pa.timestamp("ns")))})
    with pytest.raises(UnsupportedOperation, match="cannot show"):
        list(text_rows(table))


@pytest.mark.parametrize(
    ("unit", "number", "text"),
    [
        ("ms", 1_500, "1970-01-01T00:00:01.500Z"),
        ("us", 1_500, "1970-01-01T00:00:00.001500Z"),
        ("us", 1_500_000, "1970-01-01T00:00:01.500Z"),
        ("us", 0, "1970-01-01T00:00:00Z"),
        ("ns", 1_000, "1970-01-01T00:00:00.000001Z"),
        ("ns", 1_000_000_000, "1970-01-01T00:00:01Z"),
        ("ms", -62_135_596_800_000, "0001-01-01T00:00:00Z"),
    ],
)
def test_fractions_have_as_many_digits_as_the_reference_writes(unit: str, number: int, text: str) -> None:
    assert readable(pa.array([number], pa.timestamp(unit, "UTC"))).to_pylist() == [text]


def test_whole_microseconds_are_shown_in_whatever_unit_they_are() -> None:
    stamps = pa.struct({"at": pa.timestamp("ns"), "for": pa.list_(pa.duration("ns"))})
    table = pa.table({"x": pa.array([{"at": 1_000, "for": [60_000_000_000]}], stamps)})
    assert list(text_rows(table)) == [({"at": "1970-01-01T00:00:00.000001", "for": ["0:01:00"]},)]
