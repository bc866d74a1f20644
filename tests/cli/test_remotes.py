"""``odf pull NAME`` and ``odf push NAME``: where a dataset came from and went to is remembered."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.runner import odf
from tests.cli.test_transfer import AIRPORTS, dataset_folder, files_of

NAME = "us.faa.airports"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    odf("init", tmp_path / "mine")
    return tmp_path / "mine"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    shutil.copytree(AIRPORTS, tmp_path / NAME)
    return tmp_path / NAME


def config_of(repository: Path) -> str:
    return (dataset_folder(repository) / "info" / "config").read_text()


def test_a_dataset_is_pulled_again_by_its_name(mine: Path, source: Path) -> None:
    odf("pull", "--repo", mine, source, "--as", "me/fields")
    again = odf("pull", "--repo", mine, "ME/fields")
    assert (again.code, again.lines) == (0, ["me/fields: up to date"]), again.stderr


def test_what_is_new_at_the_remembered_place_is_fetched(mine: Path, tmp_path: Path, source: Path) -> None:
    odf("init", tmp_path / "served")
    odf("pull", "--repo", tmp_path / "served", source)
    served = dataset_folder(tmp_path / "served")
    odf("pull", "--repo", mine, served, "--as", NAME)
    shutil.rmtree(served)
    shutil.copytree(source, served)
    assert odf("pull", "--repo", mine, NAME).code == 0
    assert files_of(dataset_folder(mine)) == files_of(source)


def test_a_name_that_is_not_in_the_repository_is_not_found(mine: Path) -> None:
    assert odf("pull", "--repo", mine, "nothing").code == 4


def test_a_dataset_that_was_never_pulled_says_what_to_do(mine: Path, source: Path) -> None:
    odf("pull", "--repo", mine, source)
    (dataset_folder(mine) / "info" / "config").unlink()
    ran = odf("pull", "--repo", mine, NAME)
    assert ran.code == 4
    assert "odf pull URL" in ran.stderr


def test_of_several_remotes_none_is_guessed(mine: Path, tmp_path: Path, source: Path) -> None:
    shutil.copytree(source, tmp_path / "other")
    odf("pull", "--repo", mine, source)
    odf("pull", "--repo", mine, tmp_path / "other", "--as", NAME)
    ran = odf("pull", "--repo", mine, NAME)
    assert ran.code == 4
    assert str(source) in ran.stderr
    assert str(tmp_path / "other") in ran.stderr


def test_a_dry_run_remembers_nothing(mine: Path, tmp_path: Path, source: Path) -> None:
    odf("pull", "--repo", mine, source)
    odf("push", NAME, "--repo", mine, "--to", tmp_path / "copy", "--dry-run")
    assert "pushAliases" not in config_of(mine)


def test_a_dataset_is_pushed_again_without_saying_where(mine: Path, tmp_path: Path, source: Path) -> None:
    odf("pull", "--repo", mine, source)
    assert odf("push", NAME, "--repo", mine).code == 4
    assert odf("push", NAME, "--repo", mine, "--to", tmp_path / "copy").code == 0
    again = odf("push", NAME, "--repo", mine, "--json")
    assert again.json_lines()[0]["upToDate"] is True, again.stderr
    assert (tmp_path / "copy").as_uri() in config_of(mine)


def test_a_folder_that_is_no_part_of_the_repository_is_left_as_it_is(mine: Path, tmp_path: Path, source: Path) -> None:
    assert odf("push", source, "--repo", mine, "--to", tmp_path / "copy").code == 0
    assert not (source / "info" / "config").exists()
    assert odf("push", source, "--repo", mine).code == 2


def test_a_config_that_cannot_be_read_does_not_undo_a_transfer(mine: Path, tmp_path: Path, source: Path) -> None:
    odf("pull", "--repo", mine, source)
    (dataset_folder(mine) / "info" / "config").write_text("broken: [")
    ran = odf("push", NAME, "--repo", mine, "--to", tmp_path / "copy")
    assert ran.code == 0
    assert "not remembered" in ran.stderr
