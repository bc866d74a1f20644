"""An append takes its input piece by piece: the records are those of an input taken whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opendatafabric.data import slice_format
from opendatafabric.data.logical_hash import logical_hash_parquet
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.metadata.events import AddPushSource
from opendatafabric.metadata.sources import (
    MergeStrategyAppend,
    ReadStep,
    ReadStepCsv,
    ReadStepNdJson,
    ReadStepParquet,
)
from opendatafabric.metadata.transform import SqlQueryStep, Transform, TransformSql
from pipeline.history_files import HistoryFiles
from pipeline.ingest_job import make_slice
from pipeline.ingest_request import IngestAnswer, IngestRequest, RowCounts
from pipeline.merge import time_order
from pipeline.readers import blocks
from tests.pipeline.datasets import day
from tests.pipeline.local_engine import no_spark

COLUMNS = ("event_time TIMESTAMP", "n BIGINT", "text STRING")
DAYS = st.none() | st.integers(1, 28)
ROWS = st.lists(st.tuples(DAYS, st.none() | st.integers(-9, 9), st.text("ab\n\"',", max_size=4)), max_size=40)
DOUBLED: Transform = TransformSql(
    "datafusion", queries=(SqlQueryStep(query="select event_time, n * 2 as n, text from input where n is not null"),)
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks, runs and row groups so small that a few rows need several."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    monkeypatch.setattr(time_order, "SORT_RUN_BYTES", 200)
    monkeypatch.setattr(time_order, "SORT_BATCH_BYTES", 100)
    monkeypatch.setattr(slice_format, "ROW_GROUP_ROWS", 7)


def append(folder: Path, file: Path, read: ReadStep, preprocess: Transform | None = None) -> IngestAnswer:
    """The first slice of a dataset, in ``folder/slice``."""
    source = AddPushSource("default", read, preprocess, MergeStrategyAppend())
    (folder / "slice").unlink(missing_ok=True)
    history = HistoryFiles(folder / "runs", ())
    return make_slice(
        no_spark,
        IngestRequest(source, file, folder / "slice", day(1), day(1), DatasetVocabulary(), None, 0, history),
    )


def written(folder: Path, rows: Sequence[tuple[Any, ...]], form: str) -> tuple[Path, ReadStep]:
    """A file of those rows, and how it is read."""
    file = folder / "input"
    times = [None if number is None else str(day(number)) for number, _, _ in rows]
    if form == "csv":
        quoted = ['"' + text.replace('"', '""') + '"' for _, _, text in rows]
        lines = [
            f"{t or ''},{'' if n is None else n},{q}\n" for t, (_, n, _), q in zip(times, rows, quoted, strict=True)
        ]
        file.write_bytes("".join(lines).encode())
        return file, ReadStepCsv(schema=COLUMNS)
    objects = [{"event_time": t, "n": n, "text": text} for t, (_, n, text) in zip(times, rows, strict=True)]
    if form == "ndjson":
        file.write_text("".join(json.dumps(each) + "\n" for each in objects))
        return file, ReadStepNdJson(schema=COLUMNS)
    types = pa.schema([("event_time", pa.string()), ("n", pa.int64()), ("text", pa.string())])
    pq.write_table(pa.Table.from_pylist(objects, types), file, row_group_size=3)
    return file, ReadStepParquet()


def expected(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """By event time, which is the first of January where there is none; empty texts of CSV are null."""
    return sorted(((number or 1, n, text) for number, n, text in rows), key=lambda row: row[0])


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
@pytest.mark.parametrize("query", [None, DOUBLED], ids=["as it is", "queried"])
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=ROWS)
def test_pieces_of_any_size_give_the_same_records(
    tmp_path: Path, small: None, form: str, query: Transform | None, rows: list[tuple[Any, ...]]
) -> None:
    file, read = written(tmp_path, rows, form)
    if form == "parquet" and query is not None:
        return  # the event time of that file is text, which only the default step turns into a time
    answer = append(tmp_path, file, read, query)
    records = expected(rows if query is None else [(d, n * 2, t) for d, n, t in rows if n is not None])
    assert answer.rows == RowCounts(len(rows), len(records))
    if not records:
        assert (answer.data, (tmp_path / "slice").exists()) == (None, False)
        return
    found = pq.read_table(tmp_path / "slice").to_pylist()
    assert [(row["event_time"].day, row["n"], row["text"] or "") for row in found] == records
    assert [row["offset"] for row in found] == list(range(len(records)))
    assert answer.data is not None
    assert answer.data.logical_hash == logical_hash_parquet(str(tmp_path / "slice"))


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_an_error_far_into_the_file_names_its_line(tmp_path: Path, small: None, form: str) -> None:
    file, read = written(tmp_path, [(None, number, "text") for number in range(50)], form)
    bad = b'{"n": "x"}\n' if form == "ndjson" else b",x,text\n"
    file.write_bytes(file.read_bytes() + bad)
    with pytest.raises(Exception, match="line 51: column 'n' does not fit its type"):
        append(tmp_path, file, read)


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_a_record_larger_than_a_block_is_read(tmp_path: Path, small: None, form: str) -> None:
    texts = ["short", "long" * 1_000, "short"] * 3
    file, read = written(tmp_path, [(None, 1, text) for text in texts], form)
    append(tmp_path, file, read)
    assert pq.read_table(tmp_path / "slice")["text"].to_pylist() == texts


def test_row_groups_have_as_many_rows_as_one_may_have(tmp_path: Path, small: None) -> None:
    file, read = written(tmp_path, [(None, number, "") for number in range(20)], "ndjson")
    append(tmp_path, file, read)
    metadata = pq.read_metadata(tmp_path / "slice")
    assert [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)] == [7, 7, 6]


def test_rows_that_are_large_come_in_smaller_row_groups(
    tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_format, "ROW_GROUP_BYTES", 1_000)
    file, read = written(tmp_path, [(None, number, "x" * 600) for number in range(4)], "ndjson")
    answer = append(tmp_path, file, read)
    assert pq.read_metadata(tmp_path / "slice").num_row_groups == 2
    assert answer.data is not None
    assert answer.data.logical_hash == logical_hash_parquet(str(tmp_path / "slice"))
