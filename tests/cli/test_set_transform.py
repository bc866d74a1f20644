"""``odf set-transform`` gives a derivative another query, which is looked at before, as ``odf add`` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.in_process import InProcess
from tests.cli.runner import Ran, odf
from tests.pipeline.local_engine import LocalEngine
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow

SOURCES = ROOT / "examples" / "sources"
WEATHER, FAHRENHEIT = "us.noaa.seattle-weather", "seattle-weather.fahrenheit"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The weather of Seattle and a derivative of it that was computed."""
    monkeypatch.setenv("ODF_REPO", str(tmp_path / "mine"))
    odf("init", tmp_path / "mine")
    text = (SOURCES / "seattle-weather.yaml").read_text()
    source = (SOURCES / "seattle-weather.csv").as_uri()
    (tmp_path / "weather.yaml").write_text(text.replace("file:///data/seattle-weather.csv", source))
    engine = LocalEngine(tmp_path / "engine")
    for module in ("cli.transforms", "cli.polls"):
        monkeypatch.setattr(f"{module}.spark_worker", lambda _: engine)
    assert odf("add", tmp_path / "weather.yaml", SOURCES / "weather-f.yaml").code == 0
    assert odf("pull", WEATHER).code == odf("pull", FAHRENHEIT).code == 0
    return tmp_path


def set_to(folder: Path, before: str, after: str, *options: str) -> Ran:
    """The derivative with the words ``after`` in the place of ``before``."""
    text = (SOURCES / "weather-f.yaml").read_text()
    assert before in text
    (folder / "changed.yaml").write_text(text.replace(before, after))
    return odf("set-transform", FAHRENHEIT, folder / "changed.yaml", *options)


def columns() -> list[str]:
    record: Any = odf("tail", FAHRENHEIT, "-n", "1", "--json").json()
    return list(record[0])


def test_another_query_counts_from_the_next_step_on(mine: Path) -> None:
    ran = set_to(mine, "as temp_min_f,", "as temp_min_f, wind,")
    assert (ran.code, ran.lines[0].startswith(f"{FAHRENHEIT}: head f1620")) == (0, True), ran.stderr
    assert "wind" not in columns()
    newest = odf("log", FAHRENHEIT, "-o", "yaml", "--limit", "1").stdout.decode()
    assert "SetTransform" in newest
    assert "temp_min_f, wind," in newest


def test_the_transform_that_is_in_force_makes_no_block(mine: Path) -> None:
    assert set_to(mine, "kind", "kind").lines == [f"{FAHRENHEIT}: up to date"]
    told: Any = set_to(mine, "kind", "kind", "--json").json()
    assert (told["name"], told["changed"]) == (FAHRENHEIT, False)


REFUSED = [
    ("as temp_min_f,", "as low_f,", "no longer gives temp_min_f, which the dataset has"),
    ("as temp_min_f,", "as temp_min_f, gust,", "gust"),
    ("temp_max * 1.8 + 32.0", "random()", "'random'"),
    ("temp_max * 1.8 + 32.0", "'hot'", "'temp_max_f' in another type than the dataset has"),
    ("datasetRef: us.noaa.seattle-weather", "datasetRef: nowhere", "inputs of the dataset were not found: nowhere"),
]


@pytest.mark.parametrize(("before", "after", "told"), REFUSED)
def test_what_cannot_be_computed_is_refused_and_changes_nothing(mine: Path, before: str, after: str, told: str) -> None:
    blocks = odf("log", FAHRENHEIT).lines
    ran = set_to(mine, before, after)
    assert (ran.code != 0, told in ran.stderr) == (True, True), ran.stderr
    assert odf("log", FAHRENHEIT).lines == blocks


def test_roots_and_manifests_without_a_transform_are_refused(mine: Path) -> None:
    assert "not derived from others" in odf("set-transform", WEATHER, SOURCES / "weather-f.yaml").stderr
    assert "one SetTransform" in odf("set-transform", FAHRENHEIT, mine / "weather.yaml").stderr


def test_a_new_derivative_that_cannot_be_computed_is_not_added(mine: Path) -> None:
    text = (SOURCES / "weather-f.yaml").read_text().replace(FAHRENHEIT, "wrong")
    (mine / "wrong.yaml").write_text(text.replace("temp_max *", "temp_most *"))
    ran = odf("add", mine / "wrong.yaml")
    assert (ran.code, "temp_most" in ran.stderr) == (1, True)
    assert "wrong" not in odf("list").stdout.decode()


def test_a_derivative_that_cannot_be_computed_is_not_scheduled(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odf("init", mine / "elsewhere")
    text = (SOURCES / "weather-f.yaml").read_text().replace(FAHRENHEIT, "wrong").replace("temp_max *", "temp_most *")
    (mine / "wrong.yaml").write_text(text)
    odf("add", mine / "weather.yaml", "--repo", mine / "elsewhere")
    odf("add", mine / "wrong.yaml", "--repo", mine / "elsewhere")
    monkeypatch.setenv("ODF_REPO", str(mine / "elsewhere"))
    assert odf("schedule", "set", "wrong", "--on-change").code == 0  # nobody knows yet which columns there are
    odf("pull", WEATHER)
    refused = odf("schedule", "set", "wrong", "--on-change")
    assert (refused.code, "temp_most" in refused.stderr) == (3, True)


def test_where_there_is_no_engine_it_is_added_and_that_is_said(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.transform_checks.spark_worker", InProcess)
    text = (SOURCES / "weather-f.yaml").read_text().replace(FAHRENHEIT, "sparkling").replace("datafusion", "spark")
    (mine / "sparkling.yaml").write_text(text)
    ran = odf("add", mine / "sparkling.yaml")
    assert (ran.code, "the query was not looked at: there is no Spark" in ran.stderr) == (0, True), ran.stderr
