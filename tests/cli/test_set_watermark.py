"""``odf set-watermark`` moves the watermark of a root dataset forward, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.runner import odf
from tests.source_tree import ROOT

SOURCES = ROOT / "examples" / "sources"
DAY = "2026-01-31T00:00:00Z"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    odf("init", tmp_path / "mine")
    odf("add", "--repo", tmp_path / "mine", SOURCES / "airports.yaml")
    return tmp_path / "mine"


def test_a_watermark_is_set_and_said(mine: Path) -> None:
    ran = odf("set-watermark", "--repo", mine, "us.faa.airports", DAY)
    assert (ran.code, ran.lines[0].startswith(f"us.faa.airports: watermark {DAY}, head f1620")) == (0, True), ran.stderr
    newest = odf("log", "--repo", mine, "us.faa.airports", "-o", "yaml", "--limit", 1)
    assert "newWatermark" in newest.stdout.decode()


def test_one_that_is_in_force_makes_no_block(mine: Path) -> None:
    first = odf("set-watermark", "--json", "--repo", mine, "us.faa.airports", DAY).json()
    again = odf("set-watermark", "--json", "--repo", mine, "us.faa.airports", DAY).json()
    assert again == {**first, "changed": False, "old_head": first["new_head"]}  # type: ignore[dict-item,index]
    assert odf("set-watermark", "--repo", mine, "us.faa.airports", DAY).lines == ["us.faa.airports: up to date"]


def test_it_never_goes_back(mine: Path) -> None:
    odf("set-watermark", "--repo", mine, "us.faa.airports", DAY)
    assert odf("set-watermark", "--repo", mine, "us.faa.airports", "2026-01-30T00:00:00Z").code == 3


def test_a_derivative_has_the_watermark_of_its_inputs(mine: Path, tmp_path: Path) -> None:
    odf("add", "--repo", mine, SOURCES / "seattle-weather.yaml", SOURCES / "weather-f.yaml")
    assert odf("set-watermark", "--repo", mine, "seattle-weather.fahrenheit", DAY).code == 3


def test_a_time_that_is_none_is_refused(mine: Path) -> None:
    assert odf("set-watermark", "--repo", mine, "us.faa.airports", "tomorrow").code == 3
