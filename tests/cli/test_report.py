"""``odf verify`` keeps a report in a repository of ours; ``odf report`` lists and shows them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from opendatafabric.multihash import physical_hash
from tests.cli.runner import Ran, odf
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow

WEATHER = "us.noaa.seattle-weather"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Made by ``odf init``, with one dataset."""
    odf("init", tmp_path / "r")
    pulled = odf("pull", ROOT / "examples" / "datasets" / WEATHER, "--as", WEATHER, "--repo", tmp_path / "r")
    assert pulled.code == 0, pulled.stderr
    return tmp_path / "r"


def verify(repository: Path, *options: object) -> Ran:
    return odf("verify", "--integrity-only", "--repo", repository, *options)


def listed(repository: Path) -> dict[str, Any]:
    ran = odf("report", "list", WEATHER, "--repo", repository, "--json")
    assert ran.code == 0, ran.stderr
    found: dict[str, Any] = ran.json()  # type: ignore[assignment]
    return found


def damage(repository: Path) -> Path:
    path = min(repository.glob("*/data/f1620*"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    return path


def test_each_run_leaves_a_report_that_is_listed_and_shown(repository: Path) -> None:
    ran = verify(repository)
    name = ran.lines[-1].removeprefix("report ")
    assert [each["report"] for each in listed(repository)["reports"]] == [name]
    shown = odf("report", "show", name, "--repo", repository)
    assert shown.lines[0] == f"report {name}"
    assert shown.lines[-1].endswith("valid (9 blocks, 2 objects, 1461 records; nothing found)")


def test_json_is_the_report_byte_for_byte(repository: Path) -> None:
    name = verify(repository, "--json").json_lines()[0]["report"]
    raw = odf("report", "show", WEATHER, "--repo", repository, "--json").stdout
    assert str(physical_hash(raw)) == name
    assert raw == next(repository.glob(f"*/reports/{name}")).read_bytes()


def test_a_change_of_the_verdict_is_told_with_the_time_of_the_first_and_the_last_report(repository: Path) -> None:
    verify(repository)
    path = damage(repository)
    verify(repository)
    found = listed(repository)
    assert [(span["verdict"], span["reports"]) for span in found["history"]] == [("invalid", 1), ("valid", 1)]
    assert found["history"][0]["firstSeen"] == found["reports"][0]["endedAt"]
    shown = odf("report", "show", WEATHER, "--repo", repository).stdout.decode()
    assert f"object: data/{path.name}" in shown
    table = odf("report", "list", WEATHER, "--repo", repository).stdout.decode()
    assert "FIRST SEEN" in table


def test_a_kept_report_is_written_as_junit(repository: Path, tmp_path: Path) -> None:
    damage(repository)
    verify(repository)
    odf("report", "show", WEATHER, "--repo", repository, "--junit", tmp_path / "report.xml")
    assert ElementTree.parse(tmp_path / "report.xml").getroot().get("failures") != "0"


def test_a_kept_report_is_written_as_a_page(repository: Path, tmp_path: Path) -> None:
    verify(repository)
    assert odf("report", "show", WEATHER, "--repo", repository, "--html", tmp_path / "report.html").code == 0
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


def test_two_reports_are_compared(repository: Path) -> None:
    first = verify(repository, "--json").json_lines()[0]["report"]
    same = odf("report", "diff", first, WEATHER, "--repo", repository)
    assert (same.code, same.lines) == (0, ["the reports say the same"])
    damage(repository)
    verify(repository)
    other = odf("report", "diff", first, WEATHER, "--repo", repository)
    assert (other.code, other.lines[0]) == (1, "~ verdict: valid → invalid")
    changes: Any = odf("report", "diff", first, WEATHER, "--repo", repository, "--json").json()
    assert changes[0] == {"subject": "verdict", "before": "valid", "after": "invalid"}


def test_where_no_report_is_there_that_is_said(repository: Path) -> None:
    ran = odf("report", "show", WEATHER, "--repo", repository)
    assert ran.code == 4, ran.stderr
    assert "odf verify" in ran.stderr


@pytest.mark.parametrize("option", ["--no-keep", None])
def test_no_report_is_kept_where_none_is_wanted(repository: Path, option: str | None) -> None:
    if option is None:
        (repository / ".odf-repository").unlink()
    ran = verify(repository, *([option] if option else []))
    assert ran.code == 0
    assert not list(repository.glob("*/reports"))


def test_a_folder_of_others_keeps_reports_if_that_is_said(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "datasets" / WEATHER, tmp_path / "theirs" / WEATHER)
    assert verify(tmp_path / "theirs", "--keep").code == 0
    assert len(list(tmp_path.glob("theirs/*/reports/f1620*"))) == 1


def test_reports_of_other_places_are_not_kept(repository: Path) -> None:
    before = set(repository.rglob("*"))
    assert verify(repository, ROOT / "examples" / "datasets" / WEATHER).code == 0
    assert {path for path in set(repository.rglob("*")) - before if ".catalog" not in path.name} == set()


def test_a_report_that_cannot_be_kept_is_told_and_changes_no_verdict(repository: Path) -> None:
    next(repository.glob("*/refs")).parent.joinpath("reports").write_text("in the way")
    ran = verify(repository)
    assert ran.code == 0
    assert "the report was not kept, or not signed" in ran.stderr


def test_so_many_reports_are_kept_as_the_setting_says(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODF_REPORTS_KEPT", "1")
    names = [verify(repository, "--json").json_lines()[0]["report"] for _ in range(4)]
    assert {each["report"] for each in listed(repository)["reports"]} == {names[0], names[-1]}
    assert {path.name for path in repository.glob("*/reports/*")} == {names[0], names[-1]}


def test_a_lost_catalog_learns_its_reports_from_the_datasets(repository: Path) -> None:
    verify(repository)
    before = listed(repository)
    for path in repository.glob(".catalog.sqlite*"):
        path.unlink()
    assert listed(repository)["reports"] == []
    assert odf("reindex", "--repo", repository).code == 0
    assert listed(repository) == before


def test_a_restored_repository_has_its_reports(repository: Path, tmp_path: Path) -> None:
    verify(repository)
    before = listed(repository)
    assert odf("backup", tmp_path / "backup", "--repo", repository).code == 0
    assert odf("restore", tmp_path / "backup", tmp_path / "restored").code == 0
    assert listed(tmp_path / "restored") == before
    assert odf("report", "show", WEATHER, "--repo", tmp_path / "restored").code == 0
