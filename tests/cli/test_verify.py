"""``odf verify`` and ``odf fsck``: sound data passes, one flipped byte is found and named."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.runner import odf
from tests.source_tree import ROOT

DATASETS = ROOT / "examples" / "datasets"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATASETS / "us.noaa.seattle-weather", tmp_path / "r" / "us.noaa.seattle-weather"))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_all_example_datasets_are_valid() -> None:
    reports = odf("verify", "--integrity-only", "--repo", DATASETS, "--json")
    assert reports.code == 0, reports.stdout
    assert [report["verdict"] for report in reports.json_lines()] == ["valid"] * 5


@pytest.mark.parametrize("folder", ["blocks", "data"])
def test_a_flipped_bit_in_any_file_is_found_and_the_file_is_named(copy: Path, folder: str) -> None:
    for path in sorted((copy / folder).iterdir()):
        before = path.read_bytes()
        flip(path)
        ran = odf("verify", "--integrity-only", copy)
        assert ran.code == 3
        assert path.name in ran.stdout.decode()
        assert odf("fsck", copy).code == 3
        path.write_bytes(before)
    assert odf("verify", "--integrity-only", copy).code == 0


def test_the_folder_of_a_repository_stands_for_every_dataset_in_it() -> None:
    by_argument = odf("verify", "--integrity-only", DATASETS, "--json")
    assert by_argument.code == 0
    assert by_argument.stdout == odf("verify", "--integrity-only", "--repo", DATASETS, "--json").stdout


def test_a_damaged_head_is_found_and_named(copy: Path) -> None:
    flip(copy / "refs" / "head")
    ran = odf("verify", "--integrity-only", copy)
    assert ran.code == 3
    assert "refs/head" in ran.stdout.decode()
    assert odf("fsck", copy).code == 3


def test_a_damaged_dataset_is_not_passed_over_in_its_repository(copy: Path) -> None:
    for path in (copy / "blocks").iterdir():
        flip(path)
    assert odf("verify", "--integrity-only", "--repo", copy.parent).code == 3
    assert odf("verify", "--integrity-only", "--repo", copy.parent, "us.noaa.seattle-weather").code == 3


def test_reports_are_written_as_junit(copy: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    odf("verify", "--integrity-only", copy, "--junit", file)
    suites = ElementTree.parse(file).getroot().findall("testsuite")
    assert [suite.get("failures") for suite in suites] == ["0"]


def test_leftovers_are_told_but_are_no_damage(copy: Path) -> None:
    (copy / "data" / ".pending-0123456789abcdef").write_bytes(b"x")
    ran = odf("fsck", copy)
    assert ran.code == 0
    assert "leftover" in ran.stdout.decode()


def test_since_a_block_only_later_objects_are_checked_and_no_report_is_kept(copy: Path) -> None:
    (first, *_), head = sorted(copy.glob("data/*")), (copy / "refs" / "head").read_text()
    flip(first)
    everything = odf("verify", "--integrity-only", copy.name, "--repo", copy.parent)
    since = odf("verify", "--integrity-only", copy.name, "--repo", copy.parent, "--since", head, "--keep")
    assert (everything.code, since.code) == (3, 0)
    assert "0 objects" in since.lines[-1]
    assert not (copy / "reports").exists()


@pytest.mark.parametrize("more", [["--recursive"], ["us.noaa.seattle-weather"]])
def test_since_is_for_one_dataset(copy: Path, more: list[str]) -> None:
    head = (copy / "refs" / "head").read_text()
    assert odf("verify", copy.name, "--repo", copy.parent, "--since", head, *more).code == 2


def test_a_block_that_is_not_there_is_not_found(copy: Path) -> None:
    ran = odf("verify", "--integrity-only", copy, "--since", "f1620" + "0" * 64)
    assert ran.code == 4
    assert "not on the chain" in ran.stderr
