"""Queries at work: changelogs and states, what hostile SQL cannot do, and limits."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from opendatafabric.errors import EngineDied, InvalidQuery, LimitExceeded, MalformedData
from pipeline.query.prepare import Asked, prepare_query
from pipeline.query.process import QueryProcess, running_query
from pipeline.query.request import QueryLimits, QueryRequest
from pipeline.query.starting import Ends, Spawned, Started
from pipeline.sandbox import landlock_version
from storage.open import open_dataset
from storage.records.state import Wanted
from tests.pipeline.datasets import day
from tests.pipeline.query.catalogue import prepared, rows
from tests.vectors.load import FOLDER

pytestmark = pytest.mark.slow
WALLED = """
from pipeline.query.child import _wall_in
_wall_in({{"limits": {{}}, "tables": []}})
{reads}
"""
STATE = "SELECT city, population FROM cities ORDER BY city"


def ran(sql: str, **limits: Any) -> list[tuple[Any, ...]]:
    return rows(QueryRequest(sql, (), QueryLimits(**limits)))


async def test_a_table_is_the_changelog(tmp_path: Path) -> None:
    request = await prepared('SELECT "offset", op, city FROM cities ORDER BY "offset" DESC LIMIT 2', tmp_path)
    assert rows(request) == [(5, 1, "lviv"), (4, 0, "odesa")]


async def test_to_table_gives_the_state_beside_the_changelog(tmp_path: Path) -> None:
    sql = "SELECT s.city, count(*) FROM to_table('cities') s JOIN cities c ON s.city = c.city GROUP BY 1 ORDER BY 1"
    assert rows(await prepared(sql, tmp_path)) == [("kyiv", 3), ("odesa", 1)]


@pytest.mark.parametrize(
    ("asked", "state"),
    [
        (Asked(wanted=Wanted(state=True)), [("kyiv", 4), ("odesa", 5)]),
        (Asked(as_at=day(2), wanted=Wanted(state=True)), [("kyiv", 3), ("lviv", 2)]),
        (Asked(as_at=day(4), wanted=Wanted(as_of=day(2))), [("lviv", 2)]),
        (Asked(as_at=day(2)), [("kyiv", 3), ("lviv", 2)]),
    ],
)
async def test_all_tables_are_read_as_they_were_asked_for(
    tmp_path: Path, asked: Asked, state: list[tuple[str, int]]
) -> None:
    assert rows(await prepared(STATE, tmp_path, asked)) == state


async def test_datasets_are_joined(tmp_path: Path) -> None:
    sql = "SELECT c.city, r.population FROM to_table('cities') c JOIN \"alice/regions\" r ON c.city = r.city"
    assert rows(await prepared(sql, tmp_path)) == [("kyiv", 30)]


async def test_a_dataset_without_records_is_an_empty_table(tmp_path: Path) -> None:
    request = await prepared("SELECT * FROM cities JOIN to_table('cities') USING (op)", tmp_path, Asked(as_at=day(1)))
    assert rows(request) == []


async def test_the_schema_is_known_without_rows(tmp_path: Path) -> None:
    with running_query(await prepared("SELECT city AS c FROM cities WHERE false", tmp_path)) as records:
        assert records.schema.names == ["c"]
        assert list(records) == []


async def test_a_slice_that_is_no_parquet_is_an_error_of_the_query(tmp_path: Path) -> None:
    request = await prepared("SELECT * FROM to_table('alice/regions')", tmp_path)
    request.tables[0].files()[0].write_bytes(b"no parquet")
    with pytest.raises(MalformedData):
        rows(request)


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO '/tmp/stolen.csv' STORED AS CSV",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
        "CREATE TABLE t AS SELECT 1",
        "CREATE VIEW v AS SELECT 1",
        "INSERT INTO cities SELECT * FROM cities",
        "DROP TABLE cities",
        "SET datafusion.execution.target_partitions = 1",
        "SHOW ALL",
        "SHOW TABLES",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM '/etc/passwd'",
        "SELECT 1; SELECT 2",
        "PREPARE p AS SELECT 1",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '/tmp/stolen.csv' STORED AS CSV",
    ],
)
def test_queries_only_read_and_only_what_they_were_given(sql: str) -> None:
    with pytest.raises(InvalidQuery):
        ran(sql)
    assert not Path("/tmp/stolen.csv").exists()


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT city,\n  country FROM cities", r"No field named country \(line 2, column 3\)"),
        ("SELECT nofun(city) FROM cities", r"'nofun' \(line 1, column 8\)"),
        ("SELECT 1 FROM cities WHERE", r"\(at its end\)"),
        ("SELECT (1 FROM cities", r"\(line 1, column 11\)"),
        ("SELECT * FROM to_table(cities)", r"name of a dataset in single quotes \(line 1, column 15\)"),
        ("SELECT CAST(city AS INT) FROM cities", "Cannot cast string"),
    ],
)
async def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, sql: str, message: str) -> None:
    with pytest.raises(InvalidQuery, match=message):
        rows(await prepared(sql, tmp_path))


ENDLESS = "SELECT sum(a.value * b.value) FROM generate_series(1, 100000000) a, generate_series(1, 100000) b"


def test_a_query_that_takes_too_long_is_ended() -> None:
    with pytest.raises(LimitExceeded, match="longer than 1 s"):
        ran(ENDLESS, time_s=1)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(DISTINCT v) FROM (SELECT value * 7 AS v FROM generate_series(1, 100000000))",
        "SELECT array_agg(value) FROM generate_series(1, 1000000000)",
    ],
)
def test_a_query_that_takes_too_much_memory_is_ended(sql: str) -> None:
    with pytest.raises(LimitExceeded, match="memory"):
        ran(sql, memory_bytes=400 * 1024 * 1024)


def test_a_query_that_gets_no_memory_before_anybody_looked_is_told_the_same() -> None:
    words = "import sys, os; print('memory allocation of 142 bytes failed', file=sys.stderr, flush=True); os.abort()"

    def start(ends: Ends) -> Started:
        return Spawned([sys.executable, "-c", words], ends)

    process = QueryProcess(start=start)
    try:
        process.ask(QueryRequest("SELECT 1", ()))
        with pytest.raises(LimitExceeded, match="memory"):
            process.wait()
    finally:
        process.end()


def test_rows_beyond_the_limit_are_left_out() -> None:
    assert len(ran("SELECT * FROM generate_series(1, 100000)", rows=10_001)) == 10_001
    assert ran("SELECT 1", rows=0) == []


def test_who_wants_no_more_ends_the_query() -> None:
    with running_query(QueryRequest("SELECT value FROM generate_series(1, 10000000000)", ())) as records:
        first = next(iter(records))
    assert first.num_rows > 0
    assert records.process.exit_code == -signal.SIGKILL


def test_a_process_that_dies_is_told() -> None:
    with running_query(QueryRequest("SELECT value FROM generate_series(1, 10000000000)", ())) as records:
        batches = iter(records)
        next(batches)
        os.killpg(records.process.pid, signal.SIGABRT)
        with pytest.raises(EngineDied, match="ended with code -6"):
            list(batches)


@pytest.mark.skipif(landlock_version() == 0, reason="this kernel has no Landlock")
def test_behind_the_walls_there_are_the_slices_and_nothing_else(tmp_path: Path) -> None:
    request = asyncio.run(prepared("SELECT count(*) FROM cities", tmp_path, foreign=True))
    assert rows(request) == [(6,)]
    other = tmp_path / "elsewhere"
    other.write_bytes(request.tables[0].files()[0].read_bytes())
    reads = f"import pyarrow.parquet as p; p.read_table({str(other)!r})"
    done = subprocess.run(
        [sys.executable, "-c", WALLED.format(reads=reads)], capture_output=True, text=True, check=False
    )
    assert "Permission denied" in done.stderr


@pytest.mark.parametrize("name", ["us.faa.airports", "com.yahoo.stocks.monthly", "seattle-weather.fahrenheit"])
async def test_queries_see_the_records_of_the_files(name: str, tmp_path: Path) -> None:
    async def catalogue(_: str) -> Any:
        return open_dataset(str(FOLDER / "datasets" / name))

    request = await prepare_query('SELECT * FROM x ORDER BY "offset"', catalogue, tmp_path, Asked())
    found = [row for path in (FOLDER / "datasets" / name / "data").iterdir() for row in pq.read_table(path).to_pylist()]
    assert rows(request) == [tuple(row.values()) for row in sorted(found, key=lambda row: row["offset"])]
