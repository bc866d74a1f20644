"""How far the embedded Arrow schema is followed."""

from __future__ import annotations

import base64
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.data.parquet_records import ParquetRecords
from opendatafabric.data.parquet_types import decode_arrow_schema, refine
from opendatafabric.errors import MalformedData

FOLLOWED = [
    (pa.int32(), pa.time32("s")),
    (pa.int32(), pa.timestamp("s")),
    (pa.int64(), pa.timestamp("s", "UTC")),
    (pa.int64(), pa.time64("ns")),
    (pa.int64(), pa.date64()),
    (pa.int64(), pa.duration("ms")),
    (pa.date32(), pa.date64()),
    (pa.timestamp("ms", "UTC"), pa.timestamp("ms", "+02:00")),
    (pa.timestamp("us"), pa.timestamp("us", "UTC")),
    (pa.timestamp("ns"), pa.timestamp("s")),
    (pa.string(), pa.large_string()),
    (pa.string(), pa.string_view()),
    (pa.binary(), pa.binary_view()),
    (pa.binary(), pa.string()),
    (pa.decimal128(9, 2), pa.decimal32(9, 2)),
    (pa.decimal128(20, 2), pa.decimal256(20, 2)),
    (pa.string(), pa.dictionary(pa.int8(), pa.string())),
]
IGNORED = [
    (pa.int64(), pa.uint32()),
    (pa.int32(), pa.date64()),
    (pa.int32(), pa.int8()),
    (pa.time32("ms"), pa.time32("s")),
    (pa.timestamp("ms", "UTC"), pa.timestamp("s", "UTC")),
    (pa.timestamp("ms", "UTC"), pa.timestamp("ms")),
    (pa.timestamp("ns", "UTC"), pa.timestamp("ms")),
    (pa.string(), pa.binary()),
    (pa.binary(16), pa.string()),
    (pa.decimal256(50, 2), pa.decimal128(38, 2)),
    (pa.int8(), pa.list_(pa.int8())),
    (pa.binary(16), pa.uuid()),
]


@pytest.mark.parametrize(("stored", "hint"), FOLLOWED, ids=str)
def test_the_embedded_type_is_followed_where_it_refines(stored: pa.DataType, hint: pa.DataType) -> None:
    assert refine(stored, hint) == hint


@pytest.mark.parametrize(("stored", "hint"), IGNORED, ids=str)
def test_it_is_ignored_elsewhere(stored: pa.DataType, hint: pa.DataType) -> None:
    assert refine(stored, hint) == stored


def test_a_dictionary_of_another_type_gives_its_values_type() -> None:
    assert refine(pa.date32(), pa.dictionary(pa.int8(), pa.date64())) == pa.dictionary(pa.int8(), pa.date64())
    assert refine(pa.time32("ms"), pa.dictionary(pa.int8(), pa.time32("s"))) == pa.time32("ms")


def with_embedded(table: pa.Table, embedded: bytes) -> io.BytesIO:
    file = io.BytesIO()
    with pq.ParquetWriter(file, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(embedded).decode()})
    return file


def types_of(file: io.BytesIO) -> list[str]:
    return [str(leaf.column.type) for leaf in ParquetRecords(file).leaves]


def test_old_files_embed_the_schema_without_a_continuation_mark() -> None:
    message = pa.schema([("a", pa.date64())]).serialize().to_pybytes()[8:]
    assert types_of(with_embedded(pa.table({"a": [1]}), message)) == ["date64[ms]"]


@pytest.mark.parametrize(
    "embedded",
    [
        pa.schema([("b", pa.int64())]),
        pa.schema([("a", pa.int64()), ("b", pa.int64())]),
        pa.schema([]),
        pa.schema([("a", pa.int64())]),
        pa.schema([("a", pa.struct([("x", pa.int8())]))]),
        pa.schema([("a", pa.list_view(pa.int64()))]),
    ],
    ids=["other name", "more fields", "no fields", "no list", "a struct", "a list view"],
)
def test_an_embedded_schema_of_another_shape_is_refused(embedded: pa.Schema) -> None:
    with pytest.raises(MalformedData, match="does not fit"):
        types_of(with_embedded(pa.table({"a": [[1]]}), embedded.serialize().to_pybytes()))


@pytest.mark.parametrize("text", [b"", b"%%%", b"AAAA", b"/////wAAAAA=", base64.b64encode(bytes(64))])
def test_what_is_no_schema_is_refused(text: bytes) -> None:
    with pytest.raises(MalformedData, match="embedded in the Parquet file"):
        decode_arrow_schema(text)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1.5], pa.float16()), "halffloat"),
        (pa.array([[1]], pa.list_(pa.int8(), 1)), "fixed_size_list<item: int8>[1]"),
        (pa.array([[[1]]], pa.large_list(pa.list_(pa.int8()))), "large_list<item: list<item: int8>>"),
        (pa.array([{"x": 1}]), "int64"),
        (pa.array([b"ab"], pa.binary(2)), "fixed_size_binary[2]"),
    ],
    ids=str,
)
def test_types_are_restored_by_the_embedded_schema(column: pa.Array, expected: str) -> None:
    file = io.BytesIO()
    pq.write_table(pa.table({"a": column}), file)
    assert types_of(file) == [expected]
