"""Records of an engine in the declared schema: types come back, values stay."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from opendatafabric.errors import MalformedData
from pipeline.declared import to_declared

UTC_US, UTC_MS = pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC")


def declared(
    values: list[object], found: pa.DataType, wanted: pa.DataType, *, nullable: bool = True
) -> pa.ChunkedArray:
    records = pa.table({"a": pa.array(values, found)})
    return to_declared(records, pa.schema([pa.field("a", wanted, nullable)])).column("a")


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (pa.decimal128(20, 0), pa.uint64()),
        (pa.int64(), pa.uint32()),
        (pa.int32(), pa.uint16()),
        (pa.int16(), pa.uint8()),
        (pa.int16(), pa.int32()),
        (pa.float64(), pa.float32()),
    ],
)
def test_numbers_get_their_width_back(found: pa.DataType, wanted: pa.DataType) -> None:
    column = declared([1, None, 3], found, wanted)
    assert column.type == wanted
    assert column.to_pylist() == [1, None, 3]


@pytest.mark.parametrize("wanted", [pa.string(), pa.large_string(), pa.string_view()])
def test_text_gets_its_layout_back(wanted: pa.DataType) -> None:
    assert declared(["é", None, ""], pa.string(), wanted).to_pylist() == ["é", None, ""]


@pytest.mark.parametrize("wanted", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2)])
def test_bytes_get_their_layout_back(wanted: pa.DataType) -> None:
    assert declared([b"ab", None], pa.binary(), wanted).to_pylist() == [b"ab", None]


def test_times_are_rounded_down_also_before_1970() -> None:
    column = declared([-1, 0, 999, 1000, None], UTC_US, UTC_MS)
    assert column.cast(pa.int64()).to_pylist() == [-1, 0, 0, 1, None]


def test_a_time_keeps_its_value_in_another_zone_label() -> None:
    column = declared([datetime(2020, 1, 1, tzinfo=UTC)], UTC_US, pa.timestamp("ms", "+00:00"))
    assert column.cast(pa.int64()).to_pylist() == [1_577_836_800_000]


def test_fields_of_structs_and_items_of_lists_get_their_types_back() -> None:
    found = pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))])
    wanted = pa.struct([("x", pa.uint32()), ("y", pa.list_(pa.large_string()))])
    column = declared([{"x": 1, "y": ["a"]}, None], found, wanted)
    assert column.type == wanted
    assert column.to_pylist() == [{"x": 1, "y": ["a"]}, None]


def test_columns_are_required_again_and_stand_in_the_declared_order() -> None:
    schema = pa.schema([pa.field("b", pa.int64(), nullable=False), pa.field("a", pa.string())])
    records = to_declared(pa.table({"a": ["x"], "b": [1]}), schema)
    assert records.schema == schema


def test_nulls_where_none_may_be_are_counted() -> None:
    with pytest.raises(MalformedData, match="'a' may not be null and contains 2 null values"):
        declared([None, 1, None], pa.int64(), pa.int64(), nullable=False)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (pa.string(), pa.int64()),
        (pa.int64(), pa.string()),
        (pa.float64(), pa.int64()),
        (pa.timestamp("us"), UTC_MS),
        (pa.date32(), UTC_MS),
        (pa.decimal128(10, 2), pa.decimal128(10, 3)),
        (pa.struct([("x", pa.int64())]), pa.struct([("y", pa.int64())])),
        (pa.list_(pa.int64()), pa.list_(pa.string())),
    ],
)
def test_another_kind_of_values_is_refused(found: pa.DataType, wanted: pa.DataType) -> None:
    with pytest.raises(MalformedData, match="column 'a' has another type"):
        declared([], found, wanted)


def test_values_that_do_not_fit_are_refused() -> None:
    with pytest.raises(MalformedData, match="'a' does not fit its type uint8"):
        declared([256], pa.int64(), pa.uint8())


def test_missing_left_over_and_doubled_columns_are_named() -> None:
    schema = pa.schema([("a", pa.int64())])
    with pytest.raises(MalformedData, match="column 'a' is missing"):
        to_declared(pa.table({}), schema)
    with pytest.raises(MalformedData, match="column 'b' is not one of the schema"):
        to_declared(pa.table({"a": [1], "b": [1]}), schema)
    with pytest.raises(MalformedData, match="'a' is not one of the schema, or there twice"):
        to_declared(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), schema)
