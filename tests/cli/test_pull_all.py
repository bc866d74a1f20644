"""``odf pull --all`` and ``--recursive``: what comes from somewhere is brought up to date; who fails stops nobody."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.runner import Ran, odf
from tests.cli.test_transfer import AIRPORTS, DATASETS
from tests.source_tree import ROOT

SOURCES = ROOT / "examples" / "sources"
Row = dict[str, object]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Two datasets from elsewhere."""
    odf("init", tmp_path / "mine")
    for name in ("us.faa.airports", "iowa.electricity"):
        shutil.copytree(DATASETS / name, tmp_path / name)
        assert odf("pull", "--repo", tmp_path / "mine", tmp_path / name).code == 0
    return tmp_path / "mine"


def summary(ran: Ran) -> list[Row]:
    """The rows that a command with ``--json`` ends with."""
    rows = ran.json_lines()[-1]["summary"]
    assert isinstance(rows, list)
    return rows


def polled(mine: Path, file: Path) -> None:
    """A dataset whose source is ``file``."""
    text = (SOURCES / "seattle-weather.yaml").read_text().replace("file:///data/seattle-weather.csv", file.as_uri())
    (file.parent / "weather.yaml").write_text(text)
    assert odf("add", "--repo", mine, file.parent / "weather.yaml").code == 0


def test_all_that_come_from_somewhere_are_pulled_and_listed(mine: Path) -> None:
    odf("add", "--repo", mine, SOURCES / "stocks.yaml")
    ran = odf("pull", "--all", "--repo", mine)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.lines == [
        "iowa.electricity: up to date",
        "us.faa.airports: up to date",
        "NAME              STATE       RECORDS  ERROR",
        "iowa.electricity  up to date  0",
        "us.faa.airports   up to date  0",
    ]


def test_one_that_fails_does_not_stop_the_others_and_is_told_with_its_reason(mine: Path, tmp_path: Path) -> None:
    polled(mine, tmp_path / "gone.csv")
    shutil.rmtree(tmp_path / "iowa.electricity")
    ran = odf("pull", "--all", "--repo", mine, "--json")
    assert ran.code == 1
    states = {str(row["name"]): row["state"] for row in summary(ran)}
    assert states == {
        "iowa.electricity": "failed",
        "us.faa.airports": "up to date",
        "us.noaa.seattle-weather": "failed",
    }
    errors = {row["name"]: str(row["error"]) for row in summary(ran)}
    assert "gone.csv" in errors["us.noaa.seattle-weather"]
    assert ran.stderr.count('"argument"') == 2


def test_inputs_are_pulled_before_what_is_derived_from_them(mine: Path, tmp_path: Path) -> None:
    polled(mine, tmp_path / "gone.csv")
    odf("add", "--repo", mine, SOURCES / "weather-f.yaml")
    ran = odf("pull", "--recursive", "seattle-weather.fahrenheit", "--repo", mine, "--json")
    assert [row["name"] for row in summary(ran)] == ["us.noaa.seattle-weather", "seattle-weather.fahrenheit"]


def test_inputs_that_come_from_nowhere_are_left_out(mine: Path) -> None:
    ran = odf("pull", "--recursive", "us.faa.airports", AIRPORTS, "--repo", mine, "--json")
    assert [row["name"] for row in summary(ran)] == ["us.faa.airports"] * 2


def test_a_source_is_not_asked_for_a_dry_run(mine: Path, tmp_path: Path) -> None:
    polled(mine, tmp_path / "gone.csv")
    ran = odf("pull", "--dry-run", "us.noaa.seattle-weather", "--repo", mine)
    assert (ran.code, "before it is asked" in ran.stderr) == (1, True)


@pytest.mark.parametrize(
    "arguments", [[], ["--all", "name"], ["--all", "--as", "x"], ["--recursive", "a", "--as", "x"]]
)
def test_what_to_pull_is_said_in_one_way(mine: Path, arguments: list[str]) -> None:
    assert odf("pull", "--repo", mine, *arguments).code == 2
