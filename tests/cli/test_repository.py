"""Making repositories and datasets: init, add."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.runner import odf
from tests.source_tree import ROOT

SOURCES = ROOT / "examples" / "sources"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    assert odf("init", tmp_path / "repository").code == 0
    return tmp_path / "repository"


def test_a_new_repository_is_empty_and_making_it_again_changes_nothing(repository: Path) -> None:
    assert odf("init", repository).code == 0
    assert odf("list", "--repo", repository, "--json").json() == []


def test_a_folder_with_other_things_in_it_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    ran = odf("init", tmp_path)
    assert ran.code == 4
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_manifest_becomes_a_dataset_that_is_listed(repository: Path) -> None:
    added = odf("add", "--repo", repository, SOURCES / "electricity.yaml")
    assert added.code == 0, added.stderr
    name, dataset_id = added.lines[0].split()
    rows = odf("list", "--repo", repository, "--json").json()
    assert [(row["name"], row["id"], row["kind"]) for row in rows] == [(name, dataset_id, "Root")]  # type: ignore[attr-defined]


def test_inputs_of_a_derivative_are_found_in_the_repository(repository: Path) -> None:
    missing = odf("add", "--repo", repository, SOURCES / "weather-f.yaml")
    assert missing.code == 1
    assert "us.noaa.seattle-weather" in missing.stderr
    ran = odf("add", "--repo", repository, SOURCES / "seattle-weather.yaml", SOURCES / "weather-f.yaml")
    assert (ran.code, len(ran.lines)) == (0, 2)


def test_a_taken_name_is_told_and_the_dataset_stays(repository: Path) -> None:
    first = odf("add", "--repo", repository, SOURCES / "stocks.yaml")
    second = odf("add", "--repo", repository, SOURCES / "stocks.yaml")
    assert (first.code, second.code) == (0, 1)
    assert "is taken" in second.stderr
    assert len(odf("list", "--repo", repository, "--json").json()) == 1  # type: ignore[arg-type]


def test_new_datasets_are_valid(repository: Path) -> None:
    odf("add", "--repo", repository, SOURCES / "stocks.yaml", SOURCES / "airports.yaml")
    assert odf("verify", "--integrity-only", "--repo", repository).code == 0
