"""``odf witness`` compares places, remembers what they showed, and ends with the code that says what it saw."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from tests.cli.runner import Ran, odf
from tests.source_tree import ROOT

WEATHER = "us.noaa.seattle-weather"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two copies of one dataset; what is remembered lies in a folder of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("one", "other"):
        shutil.copytree(ROOT / "examples" / "datasets" / WEATHER, tmp_path / name)
    return tmp_path / "one", tmp_path / "other"


def look(places: tuple[Path, Path], *options: str) -> Ran:
    return odf("witness", *places, "--json", *options)


def states(ran: Ran) -> list[object]:
    told = ran.json()
    assert isinstance(told, list)
    return [each["state"] for each in told]


def go_back(folder: Path) -> None:
    """Let the head be the block before."""
    head = odf("log", folder, "--limit", 2).lines[1].split()[1]
    (folder / "refs" / "head").write_text(head)


def test_two_copies_are_the_same(places: tuple[Path, Path], tmp_path: Path) -> None:
    ran = look(places)
    assert (ran.code, states(ran)) == (0, ["same", "same"])
    memory = tmp_path / "config" / "odf" / "witness.json"
    assert stat.S_IMODE(memory.stat().st_mode) == 0o600
    assert str(places[1]) in memory.read_text()


def test_a_head_that_goes_back_is_an_alarm_until_it_is_accepted(places: tuple[Path, Path]) -> None:
    look(places)
    go_back(places[1])
    for _ in range(2):
        ran = look(places)
        assert (ran.code, states(ran)) == (3, ["same", "rolled-back"])
    assert "went back by 1 blocks" in odf("witness", *places).stdout.decode()
    assert look(places, "--accept").code == 3
    again = look(places)
    assert (again.code, states(again)) == (0, ["same", "behind"])


def test_a_place_that_is_not_there_is_told(places: tuple[Path, Path]) -> None:
    ran = odf("witness", places[0], "http://127.0.0.1:9/alice/weather", "--json")
    assert (ran.code, states(ran)) == (1, ["same", "unreachable"])


def test_what_is_remembered_of_an_address_holds_no_password(places: tuple[Path, Path], tmp_path: Path) -> None:
    ran = odf("witness", places[0], "http://me:s3cr3t@127.0.0.1:9/alice/weather?token=s3cr3t", "--json")
    assert "s3cr3t" not in ran.stdout.decode() + ran.stderr + (tmp_path / "config" / "odf" / "witness.json").read_text()


def test_a_memory_that_cannot_be_read_is_told(places: tuple[Path, Path], tmp_path: Path) -> None:
    look(places)
    (tmp_path / "config" / "odf" / "witness.json").write_text("{")
    assert look(places).code == 7
