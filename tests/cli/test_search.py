"""``odf search``: over a folder, with its catalog and without, and at a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from repo_server.config import Tenancy
from tests.cli.runner import odf
from tests.repo_server.hosted import hosted
from tests.repo_server.test_home import add, until_listed
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow

DATASETS = ROOT / "examples" / "datasets"
WEATHER, FAHRENHEIT = "us.noaa.seattle-weather", "seattle-weather.fahrenheit"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ODF_REPO", str(tmp_path / "mine"))
    odf("init", tmp_path / "mine")
    for name in (WEATHER, FAHRENHEIT):
        assert odf("pull", DATASETS / name).code == 0
    return tmp_path / "mine"


def names(*words: str) -> list[str]:
    found: Any = odf("search", *words, "--json").json()
    return [each["alias"] for each in found]


@pytest.mark.usefixtures("mine")
def test_words_and_filters_find_datasets_of_a_folder() -> None:
    assert names("seattle", "observ") == [WEATHER]
    assert set(names("SEATTLE")) == {WEATHER, FAHRENHEIT}
    assert names("seattle", "--kind", "derivative") == [FAHRENHEIT]
    assert names("--sort", "name", "--limit", "1") == [FAHRENHEIT]
    assert names("--standing", "verified") == names("--account", "nobody") == names("--account", "no/name") == []


def test_without_a_catalog_none_is_left_behind_and_one_that_is_there_is_used(mine: Path) -> None:
    before = {path.name for path in mine.iterdir()}
    shown = odf("search", "observations").lines
    assert (shown[0].split()[0], shown[1].split()[0]) == ("NAME", WEATHER)
    assert {path.name for path in mine.iterdir()} == before
    assert odf("reindex").code == 0
    assert names("observations") == [WEATHER]


@pytest.mark.usefixtures("mine")
def test_nothing_is_told_as_nothing_and_nonsense_is_refused() -> None:
    nothing = odf("search", "nothing-at-all")
    assert (nothing.code, nothing.stdout, nothing.stderr) == (0, b"", "nothing is like that\n")
    for wrong in (("--kind", "x"), ("--sort", "x"), ("--updated-since", "x"), ("--limit", "0")):
        assert odf("search", "weather", *wrong).code in {2, 3}


async def test_a_server_tells_what_whoever_asks_may_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    async with hosted(tmp_path, Tenancy.MULTI) as server:
        await add(server, "rain", 1)
        await add(server, "snow", 2)
        await until_listed(server, "alice/rain", "alice/snow")
        monkeypatch.setenv("ODF_REPO", server.url)
        assert await asyncio.to_thread(names, "for", "tests", "rai") == ["alice/rain"]
        assert await asyncio.to_thread(names, "--account", "bob") == []
