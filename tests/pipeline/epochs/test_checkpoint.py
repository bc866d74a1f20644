"""What is remembered comes back as it was, in a file whose bytes follow from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opendatafabric.errors import MalformedData, UnsupportedOperation
from pipeline.epochs.checkpoint import read_checkpoint, same_checkpoint, write_checkpoint
from pipeline.epochs.records import TaggedRecords
from tests.pipeline.epochs.tagged import tagged

ROW = st.tuples(
    st.integers(0, 3),
    st.none() | st.integers(0, 9),
    st.none() | st.integers(0, 9),
    st.none() | st.text("äb", max_size=2),
    st.none() | st.integers(0, 3),
)
EMPTY = tagged([])
KYIV = tagged([(0, None, 1, "kyiv", 1)])


def written(path: Path, *kept: TaggedRecords) -> Path:
    path.unlink(missing_ok=True)
    write_checkpoint(path, kept)
    return path


def same(one: TaggedRecords, other: TaggedRecords) -> bool:
    tags = zip(
        (one.offsets, one.operations, one.late_before),
        (other.offsets, other.operations, other.late_before),
        strict=True,
    )
    return one.records.equals(other.records) and all(np.array_equal(*each) for each in tags)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(inputs=st.lists(st.lists(ROW, max_size=4), min_size=1, max_size=3))
def test_it_is_read_as_it_was_written_and_its_bytes_are_the_same_again(
    tmp_path: Path, inputs: list[list[tuple[int, int | None, int | None, str | None, int | None]]]
) -> None:
    kept = [tagged(rows) for rows in inputs]
    path, again = written(tmp_path / "one", *kept), written(tmp_path / "other", *kept)
    found = read_checkpoint(path, [EMPTY] * len(kept))
    assert all(same(*each) for each in zip(found, kept, strict=True))
    assert path.read_bytes() == again.read_bytes()


def test_its_form_is_that_of_the_documentation(tmp_path: Path) -> None:
    table = pq.read_table(written(tmp_path / "checkpoint", KYIV, tagged([(3, 7, 2, "lviv", None)])))
    assert table.schema.metadata == {b"odf.checkpoint": b"odf-epoch/1"}
    assert [str(field.type) for field in table.schema][:4] == ["int32", "int64", "int32", "timestamp[ms, tz=UTC]"]
    rows = table.to_pylist()
    assert table.column_names == ["input", "offset", "op", "watermark", "input_0", "input_1"]
    assert [(row["input"], row["op"]) for row in rows] == [(0, 0), (1, 3)]
    assert rows[0]["input_1"] is None
    assert rows[1]["input_1"]["city"] == "lviv"


def test_columns_that_came_since_are_null_and_inputs_that_came_since_are_empty(tmp_path: Path) -> None:
    path = written(tmp_path / "checkpoint", KYIV)
    wider = EMPTY.records.append_column("area", pa.array([], pa.float64()))
    empty = TaggedRecords(wider, "event_time", EMPTY.offsets, EMPTY.operations, EMPTY.late_before)
    first, second = read_checkpoint(path, [empty, EMPTY])
    assert first.records.column("area").to_pylist() == [None]
    assert len(second) == 0


def test_an_input_that_is_no_longer_there_is_forgotten(tmp_path: Path) -> None:
    (found,) = read_checkpoint(written(tmp_path / "checkpoint", KYIV, KYIV), [EMPTY])
    assert same(found, KYIV)


def test_a_column_of_another_type_is_told(tmp_path: Path) -> None:
    other = pa.schema([*list(EMPTY.records.schema)[:2], ("n", pa.date32())]).empty_table()
    empty = TaggedRecords(other, "event_time", EMPTY.offsets, EMPTY.operations, EMPTY.late_before)
    with pytest.raises(MalformedData, match="cannot be read"):
        read_checkpoint(written(tmp_path / "checkpoint", KYIV), [empty])


def plain_parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"n": [1]}), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


@pytest.mark.parametrize("content", [b"", b"a tar file", plain_parquet()])
def test_the_checkpoint_of_another_engine_is_not_taken_for_one(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(UnsupportedOperation, match="another engine"):
        read_checkpoint(tmp_path / "other", [EMPTY])
    assert not same_checkpoint(tmp_path / "other", tmp_path / "other")


def test_it_is_compared_by_what_is_in_it(tmp_path: Path) -> None:
    path = written(tmp_path / "checkpoint", KYIV)
    pq.write_table(pq.read_table(path), tmp_path / "packed", compression="zstd")
    assert path.read_bytes() != (tmp_path / "packed").read_bytes()
    assert same_checkpoint(path, tmp_path / "packed")


OTHERS = {
    "a value": [(0, None, 1, "lviv", 1)],
    "a time": [(0, None, 2, "kyiv", 1)],
    "an operation": [(1, None, 1, "kyiv", 1)],
    "a watermark": [(0, 0, 1, "kyiv", 1)],
    "a null": [(0, None, 1, "kyiv", None)],
    "more": [(0, None, 1, "kyiv", 1), (0, None, 1, "kyiv", 1)],
    "none": [],
}


@pytest.mark.parametrize("rows", OTHERS.values(), ids=OTHERS)
def test_other_records_are_told_apart(
    tmp_path: Path, rows: list[tuple[int, int | None, int | None, str | None, int | None]]
) -> None:
    assert not same_checkpoint(written(tmp_path / "one", KYIV), written(tmp_path / "other", tagged(rows)))
