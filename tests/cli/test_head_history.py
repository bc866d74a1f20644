"""``odf policy``, ``reflog`` and ``undo``, over a folder and by a server; collecting leaves what may be put back."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from repo_server.config import Tenancy
from tests.cli.runner import Ran, odf
from tests.repo_server.hosted import a_chain, hosted
from tests.source_tree import ROOT
from tests.storage.chains import ChainBuilder, dataset_id

WEATHER = "us.noaa.seattle-weather"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    odf("init", tmp_path / "r")
    shutil.copytree(ROOT / "examples" / "datasets" / WEATHER, tmp_path / "r" / WEATHER)
    return tmp_path / "r"


def test_a_policy_is_set_part_by_part_and_shown(repository: Path) -> None:
    def policy(*words: str) -> Any:
        told: Any = odf("policy", WEATHER, *words, "--repo", repository, "--json").json()
        assert told.pop("signedBy") is None
        return told

    assert policy() == {"appendOnly": False, "allowForce": True}
    assert policy("--append-only") == {"appendOnly": True, "allowForce": True}
    assert policy("--no-allow-force") == {"appendOnly": True, "allowForce": False}
    assert policy("--no-append-only") == policy() == {"appendOnly": False, "allowForce": False}
    assert "force allowed: no" in odf("policy", WEATHER, "--repo", repository).stdout.decode()


def test_a_pull_by_force_asks_the_policy(repository: Path, tmp_path: Path) -> None:
    older = shutil.copytree(repository / WEATHER, tmp_path / "older")
    blocks = [line.split()[1] for line in odf("log", older, "--limit", 2).lines]
    (older / "refs" / "head").write_text(blocks[1])
    odf("policy", WEATHER, "--append-only", "--repo", repository)
    words = ("pull", older.as_uri(), "--as", WEATHER, "--force", "--repo", repository)
    assert odf(*words).code == 6
    odf("policy", WEATHER, "--no-append-only", "--repo", repository)
    assert odf(*words).code == 0
    assert odf("log", WEATHER, "--limit", 1, "--repo", repository).lines[0].split()[1] == blocks[1]


def test_what_commands_move_is_in_the_reflog_and_may_be_undone(repository: Path, tmp_path: Path) -> None:
    older = shutil.copytree(repository / WEATHER, tmp_path / "older")
    newest, before = (line.split()[1] for line in odf("log", older, "--limit", 2).lines)
    (older / "refs" / "head").write_text(before)
    assert odf("token", "create", "alice", "--repo", repository).code == 0
    assert odf("pull", older.as_uri(), "--as", WEATHER, "--force", "--repo", repository).code == 0
    moves: Any = odf("reflog", WEATHER, "--repo", repository, "--json").json()
    assert [(each["account"], each["expectedHead"], each["newHead"]) for each in moves] == [(None, newest, before)]
    assert odf("undo", WEATHER, "--repo", repository).code == 0
    moves = odf("reflog", WEATHER, "--repo", repository, "--json").json()
    assert [each["newHead"] for each in moves] == [newest, before]


def test_a_new_dataset_is_in_the_reflog(tmp_path: Path) -> None:
    odf("init", tmp_path / "new")
    assert odf("token", "create", "alice", "--repo", tmp_path / "new").code == 0
    added = odf("add", ROOT / "examples" / "sources" / "electricity.yaml", "--repo", tmp_path / "new")
    assert added.code == 0, added.stderr
    words = (added.lines[0].split()[0], "--repo", tmp_path / "new")
    moves: Any = odf("reflog", *words, "--json").json()
    assert [(each["expectedHead"], each["newHead"]) for each in moves] == [
        (None, odf("log", *words, "--limit", 1).lines[0].split()[1])
    ]


def test_without_a_reflog_nothing_is_undone(repository: Path) -> None:
    assert odf("reflog", WEATHER, "--repo", repository, "--json").json() == []
    assert odf("undo", WEATHER, "--repo", repository).code == 5


async def test_a_push_by_force_is_undone_at_the_server_and_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    other = ChainBuilder(dataset_id(1))
    other.info("another history")
    async with hosted(tmp_path, Tenancy.MULTI) as server:
        dataset = (await server.add("open", a_chain())).dataset
        await dataset.append(other.blocks[1:], expected_head=a_chain().head, force=True)
        alice = server.accounts["alice"]
        await server.catalog.datasets.log_move(dataset_id(1), alice, expected_head=a_chain().head, new_head=other.head)
        await run("login", server.url, "--access-token", server.tokens["alice"])
        assert (await run("gc", "--grace", 0, "--repo", tmp_path / "datasets")).code == 0
        assert "alice" in (await run("reflog", "alice/open", "--repo", server.url)).stdout.decode()
        ran = await run("undo", "alice/open", "--repo", server.url)
        assert ran.code == 0, ran.stderr
        assert await dataset.head() == a_chain().head
        ran = await run("undo", "alice/open", "--to", other.head, "--repo", tmp_path / "datasets")
        assert ran.code == 0, ran.stderr
        assert await dataset.head() == other.head
        assert (await run("policy", "alice/open", "--append-only", "--repo", server.url)).code == 0
        assert (await run("undo", "alice/open", "--repo", server.url)).code == 6
        told: Any = (await run("reflog", "alice/open", "--repo", tmp_path / "datasets", "--json")).json()
        assert [each["account"] for each in told] == [None, "alice", "alice"]


async def run(*words: object) -> Ran:
    """In a thread: the server answers on the loop of the test."""
    return await asyncio.to_thread(odf, *words)
