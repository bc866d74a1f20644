"""What hostile queries cannot reach, and cannot exceed."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.errors import InvalidQuery, LimitExceeded
from pipeline.process_group import resident_bytes
from pipeline.query.process import QueryProcess, running_query
from pipeline.query.request import QueryLimits, QueryRequest
from pipeline.query.starting import Copies
from pipeline.sandbox import landlock_version
from tests.pipeline.query.catalogue import prepared, rows

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(landlock_version() == 0, reason="this kernel has no Landlock"),
]
MIB = 1024 * 1024
FROM_A_TO_B = "generate_series(1, 1000000000) a, generate_series(1, 1000000000) b"


INSIDE = """
import os, socket, sys
from pipeline.query.child import _wall_in
_wall_in({{"limits": {{"foreign": True}}, "tables": []}})
{tries}
"""
Ran = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def ran() -> Iterator[Ran]:
    """Gives the rows of a query of a stranger, run as a server does."""
    copies = Copies()

    def run(sql: str, **limits: Any) -> list[tuple[Any, ...]]:
        usual = {"foreign": True, "memory_bytes": 500 * MIB, "time_s": 60}
        return rows(QueryRequest(sql, (), QueryLimits(**(usual | limits))), copies.start)

    yield run
    copies.close()


@pytest.mark.parametrize(
    "place",
    [
        "'/etc/passwd'",
        '"/etc/passwd"',
        "'file:///etc/passwd'",
        "'../../etc/passwd'",
        "'/proc/self/environ'",
        '"/etc"."passwd"',
        "read_csv('/etc/passwd')",
        "read_json('/etc/passwd')",
        "read_avro('/etc/passwd')",
        "read_parquet('x')",
        "read_parquet('https://127.0.0.1/x.parquet')",
        "parquet_scan('/etc/passwd')",
        "glob('/etc/*')",
        "parquet_metadata('/etc/passwd')",
    ],
)
def test_no_file_is_a_table(ran: Ran, place: str) -> None:
    with pytest.raises(InvalidQuery):
        ran(f"SELECT * FROM {place}")


def test_a_slice_of_another_query_is_no_table(ran: Ran, tmp_path: Path) -> None:
    secret = tmp_path / "secret.parquet"
    secret.write_bytes(b"PAR1")
    with pytest.raises(InvalidQuery, match="not found"):
        ran(f"SELECT * FROM '{secret}'")


def test_no_address_is_asked(ran: Ran) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        port = listening.getsockname()[1]
        for scheme in ("http", "s3"):
            with pytest.raises(InvalidQuery):
                ran(f"SELECT * FROM '{scheme}://127.0.0.1:{port}/x.parquet'")
        with pytest.raises(BlockingIOError):
            listening.accept()


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO '{place}'",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{place}'",
        "INSERT INTO t SELECT 1",
        "SET datafusion.catalog.information_schema = true",
        "CREATE FUNCTION f(INT) RETURNS INT RETURN $1",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{place}'",
        "BEGIN",
        "CREATE TABLE t AS SELECT 1",
        "CREATE VIEW v AS SELECT 1",
        "CREATE SCHEMA s",
        "CREATE DATABASE d",
        "DROP SCHEMA public CASCADE",
        "UPDATE t SET a = 1",
        "DELETE FROM t",
        "TRUNCATE TABLE t",
        "SET TIME ZONE = 'UTC'",
        "RESET datafusion.execution.batch_size",
        "USE other",
        "PREPARE p AS SELECT 1",
        "EXECUTE p",
        "DEALLOCATE p",
        "ANALYZE TABLE t",
        "LOAD DATA INPATH '{place}' INTO TABLE t",
        "SELECT 1 INTO t",
        "SELECT 1; COPY (SELECT 1) TO '{place}'",
        "WITH w AS (INSERT INTO t SELECT 1) SELECT 1",
    ],
)
def test_nothing_is_written_and_no_setting_changed(ran: Ran, sql: str, tmp_path: Path) -> None:
    place = tmp_path / "written"
    with pytest.raises(InvalidQuery):
        ran(sql.format(place=place))
    assert not place.exists()


@pytest.mark.parametrize(
    "sql",
    [
        "SHOW TABLES",
        "SHOW ALL",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM information_schema.df_settings",
        "SELECT current_setting('datafusion.catalog')",
        "SHOW FUNCTIONS",
        "SHOW COLUMNS FROM t",
        "SELECT * FROM datafusion.information_schema.df_settings",
        "SELECT * FROM pg_catalog.pg_settings",
    ],
)
def test_nothing_is_told_of_the_engine(ran: Ran, sql: str) -> None:
    with pytest.raises(InvalidQuery):
        ran(sql)


def test_the_process_has_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODF_SECRET_OF_A_TEST", "secret")
    process = QueryProcess()
    try:
        assert b"ODF_" not in Path(f"/proc/{process.pid}/environ").read_bytes()
    finally:
        process.end()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT repeat('x', 2000000000)",
        "SELECT array_agg(value) FROM generate_series(1, 1000000000)",
        f"SELECT * FROM {FROM_A_TO_B} ORDER BY 1 DESC",
        "SELECT count(DISTINCT value * 7) FROM generate_series(1, 1000000000)",
        "SELECT lpad('x', 2000000000, 'y')",
        "SELECT array_repeat(1, 1000000000)",
        "SELECT range(1, 1000000000)",
        "SELECT string_agg(repeat('x', 1000), '') FROM generate_series(1, 10000000)",
        "SELECT value, row_number() OVER (ORDER BY value % 7) FROM generate_series(1, 1000000000)",
        f"SELECT count(*) FROM {FROM_A_TO_B} WHERE a.value = b.value",
        "WITH RECURSIVE r AS (SELECT 'x' AS s UNION ALL SELECT concat(s, s) FROM r) SELECT length(s) FROM r",
    ],
)
def test_no_more_memory_is_taken_than_allowed(ran: Ran, sql: str) -> None:
    with pytest.raises(LimitExceeded, match="memory"):
        ran(sql)


@pytest.mark.parametrize(
    "sql",
    [
        # Long because of what is worked out, not of what is held: either limit may be met first otherwise.
        "SELECT sum(a.value % 7 + b.value % 7) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
    ],
)
def test_no_query_runs_for_ever(ran: Ran, sql: str) -> None:
    with pytest.raises(LimitExceeded, match="longer than 2 s"):
        ran(sql, time_s=2, memory_bytes=1024 * MIB)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
        "SELECT " + "NOT " * 20_000 + "true",
        "SELECT " + "1+" * 40_000 + "1",
        "SELECT " + " OR ".join(["1=1"] * 12_000),
        "SELECT " + " UNION ALL SELECT ".join(["1"] * 6_000),
        "SELECT * FROM " + "(SELECT * FROM " * 500 + "generate_series(1, 2)" + ")" * 500,
        "SELECT " + "[" * 2_000 + "1" + "]" * 2_000,
        "SELECT " + ",".join(["1"] * 40_000),
        "SELECT regexp_match('a', '(((a{1000}){1000}){1000})')",
        "SELECT regexp_like(repeat('a', 100000), '^(a|a)*(a|aa)*$b')",
        "SELECT '" + "x" * 900_000 + "'",
        "SELECT " + "9" * 100_000,
        "SELECT X'" + "ab" * 200_000 + "'",
        "SELECT 1 AS " + "a" * 500_000,
        "SELECT 1 IN (" + ",".join(map(str, range(100_000))) + ")",
        "SELECT CASE " + "WHEN false THEN 1 " * 20_000 + "END",
        "SELECT " + "-" * 1 + "- " * 50_000 + "1",
    ],
    ids=lambda sql: sql[:20],
)
def test_deep_and_wide_queries_are_answered_or_refused(ran: Ran, sql: str) -> None:
    with suppress(InvalidQuery, LimitExceeded):
        ran(sql, time_s=20)


async def test_what_a_query_started_ends_with_it(tmp_path: Path) -> None:
    request = await prepared("SELECT value FROM generate_series(1, 10000000000)", tmp_path, foreign=True)
    with running_query(request) as records:
        next(iter(records))
        pid = records.process.pid
        assert resident_bytes(pid) > 0
    assert resident_bytes(pid) == 0
    with pytest.raises(ProcessLookupError):
        os.killpg(pid, 0)


@pytest.mark.parametrize(
    "tries",
    [
        "open('/etc/shadow')",
        "open(sys.argv[1])",
        "open(sys.argv[1] + '.new', 'w')",
        "os.listdir('/root')",
        "os.mkdir(sys.argv[1] + '.folder')",
        "socket.create_connection(('127.0.0.1', int(sys.argv[2])), 5)",
        "socket.create_connection(('192.0.2.1', 80), 5)",
        "open('/tmp/written', 'w')",
        "open('/proc/%d/environ' % os.getppid()).read()",
    ],
)
def test_not_even_code_in_the_process_gets_through_the_walls(tries: str, tmp_path: Path) -> None:
    (tmp_path / "slice").write_text("of another dataset")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        arguments = [str(tmp_path / "slice"), str(listening.getsockname()[1])]
        command = [sys.executable, "-c", INSIDE.format(tries=tries), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search("PermissionError|Permission denied|ConnectionRefused|Network is unreachable", done.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["slice"]
