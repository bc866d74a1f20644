"""Records in every format."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.record_files import RecordFormat, format_of, new_file, write_records

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
RECORDS = pa.table(
    {
        "n": pa.array([1, None, 3]),
        "name": ["plain", 'with "quotes", commas', None],
        "at": pa.array([NOON, None, NOON], pa.timestamp("ms", "UTC")),
        "yes": [True, False, None],
        "list": [[1, None], [], None],
    }
)


def written(record_format: str, table: pa.Table = RECORDS, rows: int = 2) -> bytes:
    sink = io.BytesIO()
    write_records(table.schema, table.to_batches(max_chunksize=rows), RecordFormat(record_format), sink)
    return sink.getvalue()


def test_a_table_is_aligned() -> None:
    assert written("table").decode().splitlines() == [
        "n  name                   at                    yes    list",
        "1  plain                  2024-01-31T12:00:00Z  True   [1, None]",
        '   with "quotes", commas                        False  []',
        "3                         2024-01-31T12:00:00Z",
    ]


def test_csv_quotes_what_needs_it() -> None:
    assert written("csv").decode().splitlines() == [
        "n,name,at,yes,list",
        '1,"plain","2024-01-31T12:00:00Z",true,"[1,null]"',
        ',"with ""quotes"", commas",,false,"[]"',
        "3,,2024-01-31T12:00:00Z,,",
    ]


def test_json_is_one_array_of_objects() -> None:
    found = json.loads(written("json"))
    assert found[0] == {"n": 1, "name": "plain", "at": "2024-01-31T12:00:00Z", "yes": True, "list": [1, None]}
    assert len(found) == 3


def test_ndjson_is_an_object_a_line() -> None:
    assert [json.loads(line) for line in written("ndjson").splitlines()] == json.loads(written("json"))


def test_arrow_and_parquet_keep_types() -> None:
    assert pa.ipc.open_stream(written("arrow")).read_all().equals(RECORDS)
    assert pq.read_table(io.BytesIO(written("parquet"))).equals(RECORDS)


@pytest.mark.parametrize(
    ("record_format", "text"),
    [("table", "n  name  at  yes  list\n"), ("csv", "n,name,at,yes,list\n"), ("json", "[]\n"), ("ndjson", "")],
)
def test_no_records_are_fine(record_format: str, text: str) -> None:
    assert written(record_format, RECORDS.slice(0, 0)).decode() == text


def test_a_long_table_comes_in_parts() -> None:
    table = pa.table({"n": range(25_000)})
    assert written("table", table, rows=1_000).decode().splitlines().count("n") == 3


@pytest.mark.parametrize(
    ("name", "found"), [("a.parquet", "parquet"), ("a.CSV", "csv"), ("a.txt", None), ("a.table", None), ("json", None)]
)
def test_the_suffix_of_a_file_says_its_format(name: str, found: str | None) -> None:
    assert format_of(Path(name)) == found


def test_a_file_is_there_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("before")
    with pytest.raises(TypeError), new_file(path) as file:
        file.writelines([b"half", None])  # type: ignore[list-item]
    assert path.read_text() == "before"
    with new_file(path) as file:
        file.write(b"all")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("x.csv", "all")]
