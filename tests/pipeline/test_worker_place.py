"""The folder of a worker, and the files that jobs are given."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from opendatafabric.errors import AccessDenied, StorageError
from pipeline.worker_place import WorkerOptions, WorkerPlace


def test_the_folder_is_for_its_owner_only(tmp_path: Path) -> None:
    place = WorkerPlace(tmp_path / "a" / "place")
    assert {stat.S_IMODE(path.stat().st_mode) for path in [place.root, *place.root.iterdir()]} == {0o700}


def test_a_folder_that_is_open_to_others_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(AccessDenied, match="open to others"):
        WorkerPlace(tmp_path)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be made"):
        WorkerPlace(tmp_path / "file" / "place")


def test_a_job_is_given_files_without_copying_and_nothing_stays(tmp_path: Path) -> None:
    given = tmp_path / "data.csv"
    given.write_text("a,b\n")
    with WorkerPlace(tmp_path / "place").job_folders() as folders:
        inside = folders.give(given)
        assert inside.samefile(given)
        (folders.made / "result").write_text("made")
    assert not inside.exists()
    assert not folders.made.exists()
    assert given.read_text() == "a,b\n"


def test_what_killed_clients_left_is_removed_and_nothing_younger(tmp_path: Path) -> None:
    place = WorkerPlace(tmp_path / "place")
    for name in ("in/old", "out/old", "in/young"):
        (place.root / name).mkdir()
        (place.root / name / "file").touch()
    for name in ("in/old", "out/old"):
        os.utime(place.root / name, (100, 100))
    place.remove_leftovers(before=101)
    left = [path for folder in ("in", "out") for path in (place.root / folder).iterdir()]
    assert left == [place.root / "in" / "young"]


def test_where_a_file_cannot_have_two_names_it_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "another device")

    monkeypatch.setattr("os.link", refuse)
    given = tmp_path / "data.csv"
    given.write_text("a,b\n")
    with WorkerPlace(tmp_path / "place").job_folders() as folders:
        assert folders.give(given, "input").read_text() == "a,b\n"
        assert not (folders.given / "input").samefile(given)


def test_options_travel_as_json() -> None:
    options = WorkerOptions(java_home="/opt/java", readable=("/data",), idle_s=1.5)
    assert WorkerOptions.from_json(options.to_json()) == options


def test_the_stamp_changes_with_every_option() -> None:
    options = WorkerOptions()
    others = [replace(options, cores=9), replace(options, readable=("/x",)), replace(options, jobs={})]
    assert len({one.stamp() for one in [options, *others]}) == 4
    assert options.stamp() == WorkerOptions().stamp()
