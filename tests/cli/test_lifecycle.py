"""``odf delete``, ``undelete``, ``rename`` and ``transfer``: over a folder, and by a server."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from repo_server.config import Tenancy
from tests.cli.runner import Ran, odf
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow

WEATHER, DERIVED = "us.noaa.seattle-weather", "seattle-weather.fahrenheit"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    odf("init", tmp_path / "r")
    shutil.copytree(ROOT / "examples" / "datasets" / WEATHER, tmp_path / "r" / WEATHER)
    return tmp_path / "r"


def names(repository: Path) -> list[str]:
    listed: Any = odf("list", "--repo", repository, "--json").json()
    return [each["name"] for each in listed]


def test_a_dataset_is_deleted_and_brought_back(repository: Path) -> None:
    assert "would be deleted" in odf("delete", WEATHER, "--dry-run", "--repo", repository).stdout.decode()
    assert names(repository) == [WEATHER]
    ran = odf("delete", WEATHER, "--repo", repository)
    assert (ran.code, names(repository)) == (0, [])
    assert WEATHER in odf("undelete", "--repo", repository).stdout.decode()
    assert odf("undelete", WEATHER, "--repo", repository).lines == [f"{WEATHER} is back"]
    assert names(repository) == [WEATHER]
    assert odf("verify", WEATHER, "--integrity-only", "--repo", repository).code == 0


def test_one_deleted_for_good_does_not_come_back(repository: Path) -> None:
    assert odf("delete", WEATHER, "--for-good", "--repo", repository).code == 0
    assert odf("undelete", WEATHER, "--repo", repository).code == 4
    assert [path.name for path in repository.iterdir() if path.is_dir()] == []


def test_what_is_derived_from_it_is_told(repository: Path) -> None:
    shutil.copytree(ROOT / "examples" / "datasets" / DERIVED, repository / DERIVED)
    plan: Any = odf("delete", WEATHER, "--dry-run", "--repo", repository, "--json").json()
    assert (plan["derivatives"], plan["mirrors"]) == ([DERIVED], 0)
    assert f"  {DERIVED} is derived from it" in odf("delete", WEATHER, "--dry-run", "--repo", repository).lines


def test_a_dataset_is_renamed_and_comes_back_under_another_name(repository: Path) -> None:
    assert odf("rename", WEATHER, "other", "--repo", repository).code == 0
    odf("delete", "other", "--repo", repository)
    assert odf("undelete", "other", "--as", "third", "--repo", repository).code == 0
    assert names(repository) == ["third"]
    assert odf("rename", "third", "no/name", "--repo", repository).code == 2


def test_the_operator_gives_a_dataset_at_once(repository: Path) -> None:
    assert odf("transfer", WEATHER, "bob", "--repo", repository).code == 4
    odf("token", "create", "bob", "--repo", repository)
    assert odf("transfer", WEATHER, "bob", "--repo", repository).code == 0
    assert odf("transfer", WEATHER, "bob", "--repo", repository).code == 5
    for wrong in ((), ("bob", "--accept"), ("--accept", "--decline")):
        assert odf("transfer", WEATHER, *wrong, "--repo", repository).code != 0


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"


@pytest.mark.usefixtures("config")
async def test_a_server_deletes_renames_and_gives_its_datasets(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI) as server:
        await server.add("open", a_chain())
        await as_(server, "alice")
        told: Any = (await run("delete", "alice/open", "--dry-run", "--json", "--repo", server.url)).json()
        assert told["head"] == str(a_chain().head)
        for words in (
            ("delete", "alice/open"),
            ("undelete",),
            ("undelete", "alice/open"),
            ("rename", "alice/open", "other"),
            ("transfer", "alice/other", "bob"),
        ):
            ran = await run(*words, "--repo", server.url)
            assert ran.code == 0, ran.stderr
        await as_(server, "bob")
        assert (await run("rename", "alice/other", "mine", "--repo", server.url)).code == 6
        assert (await run("transfer", "alice/other", "--accept", "--repo", server.url)).code == 0
        assert (await run("delete", f"odf+{server.url}/bob/other", "--for-good")).code == 0
        assert (await run("transfer", "alice/other", "--decline", "--repo", server.url)).code == 4


async def as_(server: Hosted, who: str) -> None:
    await run("login", server.url, "--access-token", server.tokens[who])


async def run(*words: object) -> Ran:
    """In a thread: the server answers on the loop of the test."""
    return await asyncio.to_thread(odf, *words)
