"""``odf gate`` and ``odf promote``: set, shown, and several heads in one step."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import odf
from tests.source_tree import ROOT

WEATHER, AIRPORTS = "us.noaa.seattle-weather", "us.faa.airports"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two roots, each with its last block staged."""
    odf("init", tmp_path / "r")
    for name in (WEATHER, AIRPORTS):
        folder = shutil.copytree(ROOT / "examples" / "datasets" / name, tmp_path / "r" / name)
        blocks = [line.split()[1] for line in odf("log", folder, "--limit", 2).lines]
        (folder / "refs" / "staging").write_text(blocks[0])
        (folder / "refs" / "head").write_text(blocks[1])
    return tmp_path / "r"


def state(repository: Path, *words: str) -> dict[str, Any]:
    ran = odf("gate", WEATHER, *words, "--repo", repository, "--json")
    assert ran.code == 0, ran.stderr
    told: Any = ran.json()
    return dict(told)


def refs(repository: Path, name: str) -> set[str]:
    return {path.name for path in (repository / name / "refs").iterdir()}


def test_a_gate_is_set_shown_and_removed(repository: Path) -> None:
    assert (state(repository)["on"], state(repository)["staged"] is None) == (False, False)
    assert state(repository, "on")["replay"] is False
    assert state(repository, "on", "--replay")["replay"] is True
    assert "gate: integrity and replay" in odf("gate", WEATHER, "--repo", repository).stdout.decode()
    off = state(repository, "off")
    assert (off["on"], off["staged"]) == (False, None)


def test_several_datasets_are_promoted_in_one_step(repository: Path) -> None:
    ran = odf("promote", WEATHER, AIRPORTS, "--repo", repository, "--json")
    assert (ran.code, [line["result"] for line in ran.json_lines()]) == (0, ["promoted", "promoted"])
    assert [refs(repository, name) for name in (WEATHER, AIRPORTS)] == [{"head"}, {"head"}]
    assert odf("promote", WEATHER, AIRPORTS, "--repo", repository).code == 4


def test_none_is_promoted_when_one_is_damaged(repository: Path) -> None:
    max((repository / AIRPORTS / "data").iterdir(), key=lambda path: path.stat().st_size).write_bytes(b"damaged")
    ran = odf("promote", WEATHER, AIRPORTS, "--repo", repository)
    assert ran.code == 3
    assert f"{AIRPORTS}: rejected: damage [object" in ran.stdout.decode()
    assert [refs(repository, name) for name in (WEATHER, AIRPORTS)] == [{"head", "staging"}] * 2
