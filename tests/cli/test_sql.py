"""``odf sql`` over the example datasets."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.runner import odf
from tests.source_tree import ROOT

DATASETS = ROOT / "examples" / "datasets"
AFTER_ONE_SLICE = "2026-11-21T02:54:16Z"
COUNT = 'SELECT count(*) AS n FROM "us.faa.airports"'

pytestmark = pytest.mark.slow


def test_a_query_prints_a_table() -> None:
    ran = odf("sql", "--repo", DATASETS, 'SELECT op, count(*) AS n FROM "us.faa.airports" GROUP BY op ORDER BY op')
    assert ran.code == 0, ran.stderr
    assert ran.lines == ["op  n", "0   646", "1   146", "2   46", "3   46"]


def test_a_query_is_read_from_standard_input() -> None:
    assert odf("sql", "--repo", DATASETS, "-f", "csv", stdin=COUNT).lines == ["n", "884"]
    assert odf("sql", "-", "--repo", DATASETS, "--json", stdin=COUNT).json() == [{"n": 884}]


def test_a_dataset_is_a_table_by_its_id_too() -> None:
    dataset_id = odf("show", DATASETS / "us.faa.airports", "--json").json()["id"]  # type: ignore[index]
    assert odf("sql", "--repo", DATASETS, "--json", f'SELECT count(*) n FROM "{dataset_id}"').json() == [{"n": 884}]


def test_tables_are_read_as_their_state_and_at_a_moment() -> None:
    assert odf("sql", "--repo", DATASETS, "--json", COUNT, "--state").json() == [{"n": 500}]
    assert odf("sql", "--repo", DATASETS, "--json", COUNT, "--as-at", AFTER_ONE_SLICE).json() == [{"n": 500}]
    assert odf("sql", "--repo", DATASETS, "--json", COUNT, "--as-of", "2020-01-01T00:00:00Z").json() == [{"n": 0}]
    block = odf("log", DATASETS / "us.faa.airports", "--json").json_lines()[-4]["hash"]
    assert odf("sql", "--repo", DATASETS, "--json", COUNT, "--at-block", block).json() == [{"n": 500}]


def test_the_result_goes_into_a_file_of_the_format_that_its_name_says(tmp_path: Path) -> None:
    query = 'SELECT iata, latitude FROM "us.faa.airports"'
    for name, read in [
        ("x.parquet", pq.read_table),
        ("x.arrow", lambda path: pa.ipc.open_stream(path.read_bytes()).read_all()),
    ]:
        ran = odf("sql", "--repo", DATASETS, query, "--limit", 7, "--output", tmp_path / name)
        assert (ran.code, ran.stdout) == (0, b""), ran.stderr
        assert read(tmp_path / name).num_rows == 7


def test_a_query_that_fails_leaves_no_file(tmp_path: Path) -> None:
    ran = odf("sql", "--repo", DATASETS, f"{COUNT} WHERE 1 / (op - op) = 1", "--output", tmp_path / "x.csv")
    assert ran.code != 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT * FROM nothing", "'nothing', which is no dataset (line 1, column 15)"),
        ('SELECT * FROM "https://example.org/x"', "names no dataset (line 1, column 15)"),
        ('SELECT country2 FROM "us.faa.airports"', "No field named country2 (line 1, column 8)"),
        ("SELEC 1", "(line 1, column 1)"),
        ("DROP TABLE x", "queries only read"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(query: str, told: str) -> None:
    ran = odf("sql", "--repo", DATASETS, query)
    assert ran.code != 0
    assert ran.stdout == b""
    assert told in ran.stderr


def test_time_is_limited() -> None:
    endless = "SELECT sum(a.value * b.value) FROM generate_series(1, 100000000) a, generate_series(1, 100000) b"
    ran = odf("sql", "--repo", DATASETS, "--timeout", 1, "--memory", 1000, endless)
    assert "longer than 1 s" in ran.stderr
