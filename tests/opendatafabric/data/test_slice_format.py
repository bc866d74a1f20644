"""What a data slice has to look like."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.data.logical_hash import logical_hash_parquet, logical_hash_table
from opendatafabric.data.slice_format import (
    check_slice,
    check_slice_schema,
    first_wrong_offset,
    system_fields,
    write_slice,
    writer_options,
)
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import MalformedData
from opendatafabric.metadata.slices import OffsetInterval
from tests.opendatafabric.data.test_logical_hash_vectors import DATASETS, slices_of
from tests.vectors.load import FOLDER, vectors

SCHEMA = pa.schema([*system_fields(), ("city", pa.string()), ("open", pa.bool_())])
NOW = datetime(2024, 1, 2, tzinfo=UTC)


def table(rows: int = 3, **columns: Any) -> pa.Table:
    content = {
        "offset": range(10, 10 + rows),
        "op": [0] * rows,
        "system_time": [NOW] * rows,
        "event_time": [NOW] * rows,
        "city": ["kyiv"] * rows,
        "open": [None] * rows,
    }
    content.update(columns)
    return pa.table([pa.array(content[field.name], field.type) for field in SCHEMA], schema=SCHEMA)


def as_file(records: pa.Table) -> io.BytesIO:
    file = io.BytesIO()
    write_slice(file, records)
    return file


def test_a_slice_that_we_write_is_a_slice() -> None:
    check_slice(as_file(table()), OffsetInterval(10, 12))


def test_writing_keeps_the_logical_hash() -> None:
    assert logical_hash_parquet(as_file(table())) == logical_hash_table(table())


def test_files_look_like_those_of_the_reference() -> None:
    column = pq.ParquetFile(as_file(table(2000))).metadata.row_group(0)
    city, is_open = column.column(4), column.column(5)
    assert city.compression == is_open.compression == "SNAPPY"
    assert city.has_dictionary_page
    assert not is_open.has_dictionary_page
    assert city.has_offset_index
    assert city.has_column_index


def test_unsigned_integers_and_nanoseconds_survive_the_settings() -> None:
    schema = pa.schema([("u", pa.uint32()), ("t", pa.time64("ns")), ("n", pa.timestamp("ns"))])
    file = io.BytesIO()
    pq.write_table(schema.empty_table(), file, **writer_options(schema))
    assert pq.read_schema(file).remove_metadata() == schema


def test_what_parquet_cannot_hold_is_refused() -> None:
    union = pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])])
    with pytest.raises(MalformedData, match="cannot be written"):
        write_slice(io.BytesIO(), pa.table({"u": union}))


INTERVALS = [
    (folder, physical, interval)
    for folder in DATASETS
    for (_, physical, _), interval in zip(
        slices_of(folder),
        [
            OffsetInterval(int(part.split()[0]), int(part.split("end: ")[1].split()[0]))
            for part in (folder.parent / f"{folder.name}.log.yaml").read_text().split("start: ")[1:]
        ],
        strict=True,
    )
]


@pytest.mark.parametrize(("folder", "physical", "interval"), INTERVALS[::7], ids=str)
def test_slices_of_real_datasets_are_slices(folder: Path, physical: str, interval: OffsetInterval) -> None:
    vocabulary = DatasetVocabulary()
    text = (folder.parent / f"{folder.name}.log.yaml").read_text()
    if "eventTimeColumn: " in text:
        vocabulary = DatasetVocabulary(event_time_column=text.split("eventTimeColumn: ")[1].split()[0])
    check_slice(str(folder / "data" / physical), interval, vocabulary)


GOLDEN_SLICES = sorted(
    case["file"]
    for case in vectors("logical-hash/hashes.json")
    if case["name"].startswith("odf-slice") and case["format"] == "arrow"
)


@pytest.mark.parametrize("file", GOLDEN_SLICES)
def test_the_schemas_of_the_golden_slices_are_taken_if_their_time_is_in_utc(file: str) -> None:
    schema = pa.ipc.open_file(FOLDER / "logical-hash" / file).schema
    if schema.field("system_time").type.tz == "UTC":
        check_slice_schema(schema)
    else:
        with pytest.raises(MalformedData, match="system_time"):
            check_slice_schema(schema)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([], "column 1 of a slice is 'offset'"),
        (["op", "offset", "system_time", "event_time"], "column 1 of a slice is 'offset'"),
        (["offset", "system_time", "event_time"], "column 2 of a slice is 'op'"),
        (["offset", "op", "event_time"], "column 3 of a slice is 'system_time'"),
        (["offset", "op", "system_time", "city"], "a slice has one column 'event_time'"),
        (["offset", "op", "system_time", "event_time", "event_time"], "a slice has one column 'event_time'"),
    ],
    ids=str,
)
def test_a_system_column_missing_or_out_of_place_is_named(columns: list[str], message: str) -> None:
    with pytest.raises(MalformedData, match=message):
        check_slice_schema(pa.schema([SCHEMA.field(name) for name in columns]))


@pytest.mark.parametrize(
    ("name", "data_type"),
    [
        ("offset", pa.int32()),
        ("op", pa.string()),
        ("system_time", pa.timestamp("us", "UTC")),
        ("system_time", pa.timestamp("ms")),
        ("event_time", pa.timestamp("ms")),
        ("event_time", pa.string()),
    ],
    ids=str,
)
def test_a_system_column_of_another_type_is_named(name: str, data_type: pa.DataType) -> None:
    index = SCHEMA.get_field_index(name)
    with pytest.raises(MalformedData, match=f"column '{name}' has another type"):
        check_slice_schema(SCHEMA.set(index, pa.field(name, data_type)))


@pytest.mark.parametrize(
    ("name", "data_type"),
    [("offset", pa.uint64()), ("op", pa.uint8()), ("op", pa.int64()), ("event_time", pa.date32())],
    ids=str,
)
def test_the_types_of_the_specification_and_of_older_slices_are_taken(name: str, data_type: pa.DataType) -> None:
    check_slice_schema(SCHEMA.set(SCHEMA.get_field_index(name), pa.field(name, data_type)))


def test_the_event_time_may_stand_anywhere() -> None:
    check_slice_schema(
        pa.schema([SCHEMA.field(name) for name in ("offset", "op", "system_time", "city", "event_time")])
    )


def test_the_vocabulary_names_the_columns() -> None:
    vocabulary = DatasetVocabulary("o", "kind", "made", "when")
    check_slice_schema(pa.schema([*system_fields(vocabulary)]), vocabulary)
    with pytest.raises(MalformedData, match="'o'"):
        check_slice_schema(SCHEMA, vocabulary)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"offset": [10, 12, 13]}, "do not count"),
        ({"offset": [0, 1, 2]}, "do not count"),
        ({"offset": [12, 11, 10]}, "do not count"),
        ({"op": [0, 1, 9]}, "offset 12 has no known operation"),
        ({"system_time": [NOW, NOW, datetime(2025, 1, 1, tzinfo=UTC)]}, "one system time"),
    ],
    ids=str,
)
def test_records_that_are_not_those_of_a_slice_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedData, match=message):
        check_slice(as_file(table(**changed)), OffsetInterval(10, 12))


@pytest.mark.parametrize("interval", [OffsetInterval(10, 11), OffsetInterval(10, 13)])
def test_another_number_of_records_is_refused(interval: OffsetInterval) -> None:
    with pytest.raises(MalformedData, match="another number of records"):
        check_slice(as_file(table()), interval)


def test_an_interval_beyond_all_offsets_is_refused_and_not_counted() -> None:
    with pytest.raises(MalformedData, match="do not count"):
        check_slice(as_file(table()), OffsetInterval(2**64 - 3, 2**64 - 1))


def test_offsets_beyond_64_bits_signed_are_wrong_and_no_crash() -> None:
    assert first_wrong_offset(pa.array([2**64 - 1, 0], pa.uint64()), 0) == 0
    assert first_wrong_offset(pa.array([0, None], pa.int64()), 0) == 1
    assert first_wrong_offset(pa.array([], pa.int64()), 5) is None
