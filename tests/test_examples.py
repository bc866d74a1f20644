"""The examples run, and print what they promise."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import odf
from tests.source_tree import ROOT

EXAMPLES = {
    "01_read_a_block.py": "kind: MetadataBlock",
    "02_walk_a_chain.py": "1461 records",
    "03_hash_records.py": "logical: ",
    "04_find_a_flipped_bit.py": "invalid",
    "05_read_records.py": "500 airports as of what is known now",
}


def test_every_numbered_example_is_run_here() -> None:
    assert {path.name for path in (ROOT / "examples").glob("[0-9]*.py")} == set(EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_prints_its_point(name: str) -> None:
    script = ROOT / "examples" / name
    done = subprocess.run([sys.executable, script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert EXAMPLES[name] in done.stdout


def test_records_stored_in_another_way_have_the_same_logical_hash() -> None:
    command = [sys.executable, ROOT / "examples" / "03_hash_records.py"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for line in lines:
        first, _, second = line.split(":")[1].split()
        assert (first == second) == line.startswith("logical")


PIPELINE_HEADS = {
    "seattle-weather.anomalies": "f1620cb5dcffc36e8630f8db42ac4e2d57555714d53180559dcc902066b221b2c12bc",
    "seattle-weather.exceptional": "f1620fd5bd4266415179289d9778420851d01081ed1559e895b2feb1bb54490bc3335",
}


def prepare(repository: Path) -> None:
    """What ``make run`` does before it serves."""
    program = f"import asyncio, run; asyncio.run(run.prepare(run.Settings(repo={str(repository)!r})))"
    subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "examples", env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True
    )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repository = tmp_path_factory.mktemp("examples") / "repository"
    prepare(repository)
    return repository


@pytest.mark.slow
def test_what_is_derived_has_the_same_hashes_everywhere_and_after_a_second_start(prepared: Path) -> None:
    for _ in range(2):
        for name, head in PIPELINE_HEADS.items():
            newest = odf("log", "--repo", prepared, f"examples/{name}", "-n", "1", "--json").json()
            assert isinstance(newest, dict)
            assert newest["hash"] == head
        prepare(prepared)


@pytest.mark.slow
def test_what_is_derived_is_what_the_source_file_says(prepared: Path) -> None:
    with (ROOT / "examples" / "sources" / "seattle-weather.csv").open() as file:
        days = [{**row, "date": row["date"].replace("/", "-")} for row in csv.DictReader(file)]
    by_month: dict[str, list[float]] = {}
    for day in days:
        by_month.setdefault(day["date"][:7], []).append(float(day["temp_max"]))
    usual = {month: sum(each) / len(each) for month, each in by_month.items()}
    warmer_by = {day["date"]: float(day["temp_max"]) - usual[day["date"][:7]] for day in days}
    anomalies = rows_of(prepared, "seattle-weather.anomalies")
    assert [row["date"][:10] for row in anomalies] == sorted(warmer_by)
    assert all(abs(row["warmer_by"] - warmer_by[row["date"][:10]]) < 0.0501 for row in anomalies)
    far = {row["date"][:10]: row["warmer_by"] for row in anomalies if abs(row["warmer_by"]) >= 8}
    weather = {day["date"]: day["weather"] for day in days}
    exceptional = rows_of(prepared, "seattle-weather.exceptional")
    told = [(row["date"][:10], row["warmer_by"], row["weather"]) for row in exceptional]
    assert told == [(date, by, weather[date]) for date, by in sorted(far.items())]


def rows_of(repository: Path, name: str) -> list[dict[str, Any]]:
    """All records, oldest first."""
    found: Any = odf("tail", "--repo", repository, f"examples/{name}", "-n", "2000", "--json").json()
    return list(found)
