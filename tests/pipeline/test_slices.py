"""The file of a slice and what is said of it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.data.logical_hash import logical_hash_parquet
from opendatafabric.data.slice_format import check_slice, system_fields
from opendatafabric.errors import MalformedData
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.multihash import physical_hash
from pipeline.slices import write_slice

pytestmark = pytest.mark.slow

T = datetime(2020, 1, 1, tzinfo=UTC)


def slice_of(
    columns: dict[str, pa.Array], *, start: int = 0, times: list[Any] | None = None
) -> tuple[pa.Table, pa.Schema]:
    """Records as Spark hands them over, with system columns in microseconds, and the schema they should get."""
    rows = len(next(iter(columns.values())))
    utc = pa.timestamp("us", "UTC")
    records = pa.table(
        {
            "offset": pa.array(range(start, start + rows), pa.int64()),
            "op": pa.array([0] * rows, pa.int32()),
            "system_time": pa.array([T] * rows, utc),
            "event_time": pa.array(times if times is not None else [T] * rows, utc),
            **columns,
        }
    )
    return records, pa.schema([*system_fields(), *(pa.field(name, column.type) for name, column in columns.items())])


def test_the_file_is_a_slice_in_every_respect(tmp_path: Path) -> None:
    records, schema = slice_of({"a": pa.array([1, None, 3]), "s": pa.array(["x", "", None])}, start=7)
    written = write_slice(records, schema, tmp_path / "slice")
    assert written.offset_interval == OffsetInterval(7, 9)
    check_slice(str(written.path), OffsetInterval(7, 9))
    assert pq.read_table(written.path).schema.remove_metadata() == schema


def test_hashes_and_size_are_those_of_the_file(tmp_path: Path) -> None:
    records, schema = slice_of({"a": pa.array(range(100_000))})
    written = write_slice(records, schema, tmp_path / "slice")
    assert written.physical_hash == physical_hash(written.path.read_bytes())
    assert written.size == written.path.stat().st_size
    assert written.logical_hash == logical_hash_parquet(str(written.path))
    assert written.rows == 100_000


VALUES = st.one_of(
    st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), min_size=1).map(lambda v: pa.array(v, pa.int32())),
    st.lists(st.none() | st.text(max_size=5), min_size=1).map(lambda v: pa.array(v, pa.string())),
    st.lists(st.none() | st.booleans(), min_size=1).map(lambda v: pa.array(v, pa.bool_())),
    st.lists(st.none() | st.floats(), min_size=1).map(lambda v: pa.array(v, pa.float64())),
    st.lists(st.none() | st.lists(st.none() | st.integers(0, 9)), min_size=1).map(
        lambda v: pa.array(v, pa.list_(pa.int64()))
    ),
    st.lists(st.none() | st.fixed_dictionaries({"x": st.none() | st.integers(0, 9)}), min_size=1).map(
        lambda v: pa.array(v, pa.struct([("x", pa.int64())]))
    ),
)


@given(VALUES)
def test_the_logical_hash_taken_in_memory_is_the_one_read_back(tmp_path: Path, column: pa.Array) -> None:
    records, schema = slice_of({"a": column})
    (tmp_path / "slice").unlink(missing_ok=True)
    written = write_slice(records, schema, tmp_path / "slice")
    assert written.logical_hash == logical_hash_parquet(str(written.path))


@given(st.lists(st.integers(1, 6), min_size=1))
def test_batches_do_not_matter(tmp_path: Path, sizes: list[int]) -> None:
    records, schema = slice_of({"a": pa.array(range(sum(sizes)))})
    ends = [sum(sizes[: index + 1]) for index in range(len(sizes))]
    parts = pa.concat_tables([records.slice(end - size, size) for size, end in zip(sizes, ends, strict=True)])
    for name in ("whole", "parts"):
        (tmp_path / name).unlink(missing_ok=True)
    whole, in_parts = write_slice(records, schema, tmp_path / "whole"), write_slice(parts, schema, tmp_path / "parts")
    assert whole.logical_hash == in_parts.logical_hash
    assert whole.offset_interval == in_parts.offset_interval


def test_the_watermark_candidate_is_the_last_event_time(tmp_path: Path) -> None:
    later = datetime(2021, 5, 1, 12, tzinfo=UTC)
    records, schema = slice_of({"a": pa.array([1, 2, 3])}, times=[T, later, T])
    assert write_slice(records, schema, tmp_path / "slice").last_event_time == later


def test_dates_count_as_midnight(tmp_path: Path) -> None:
    records, schema = slice_of({"a": pa.array([1])})
    position = schema.get_field_index("event_time")
    days = pa.array([date(2020, 2, 3)], pa.date32())
    records = records.set_column(position, "event_time", days)
    schema = schema.set(position, pa.field("event_time", pa.date32(), nullable=False))
    assert write_slice(records, schema, tmp_path / "slice").last_event_time == datetime(2020, 2, 3, tzinfo=UTC)


def test_a_file_without_records_is_no_slice_and_still_tells_its_schema(tmp_path: Path) -> None:
    records, schema = slice_of({"a": pa.array([], pa.int64())})
    written = write_slice(records, schema, tmp_path / "slice")
    assert (written.rows, written.offset_interval, written.last_event_time, written.data_slice()) == (
        0,
        None,
        None,
        None,
    )
    assert pq.read_schema(written.path).names == schema.names


def test_what_a_block_says_of_it(tmp_path: Path) -> None:
    records, schema = slice_of({"a": pa.array([1])}, start=5)
    written = write_slice(records, schema, tmp_path / "slice")
    said = written.data_slice()
    assert said is not None
    assert (said.logical_hash, said.physical_hash) == (written.logical_hash, written.physical_hash)
    assert (said.offset_interval, said.size) == (OffsetInterval(5, 5), written.size)


def test_offsets_that_do_not_count_up_are_refused(tmp_path: Path) -> None:
    records, schema = slice_of({"a": pa.array([1, 2, 3])})
    with pytest.raises(MalformedData, match="do not count up") as raised:
        write_slice(records.take([0, 2, 1]), schema, tmp_path / "slice")
    assert (raised.value.expected, raised.value.found) == ("1", "2")


def test_a_gap_between_batches_is_seen_too(tmp_path: Path) -> None:
    records, schema = slice_of({"a": pa.array([1, 2, 3])})
    parts = pa.concat_tables([records.slice(0, 1), records.slice(2, 1)])
    with pytest.raises(MalformedData, match="do not count up"):
        write_slice(parts, schema, tmp_path / "slice")


def test_types_without_a_logical_hash_are_refused(tmp_path: Path) -> None:
    records, schema = slice_of({"a": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))})
    with pytest.raises(MalformedData, match="has no logical hash"):
        write_slice(records, schema, tmp_path / "slice")


def test_a_schema_that_is_not_one_of_a_slice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedData, match="column 1 of a slice is 'offset'"):
        write_slice(pa.table({"a": [1]}), pa.schema([("a", pa.int64())]), tmp_path / "slice")


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    records, schema = slice_of({"a": pa.array([1])})
    (tmp_path / "slice").write_text("mine")
    with pytest.raises(FileExistsError):
        write_slice(records, schema, tmp_path / "slice")
    assert (tmp_path / "slice").read_text() == "mine"
