"""Remotes of a dataset folder: kept in kamu's form, beside whatever else stands in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import MalformedManifest
from storage.dataset_config import Direction, remember_remote, remotes_of

REMOTE = "odf+http://127.0.0.1:8080/alice/foo"
AS_KAMU_WRITES_IT = f"kind: DatasetConfig\nversion: 1\ncontent:\n  pullAliases:\n  - {REMOTE}\n"


def write_config(folder: Path, text: str) -> None:
    (folder / "info").mkdir()
    (folder / "info" / "config").write_text(text)


@pytest.mark.parametrize("direction", Direction)
def test_a_dataset_that_was_moved_nowhere_has_no_remotes(tmp_path: Path, direction: Direction) -> None:
    assert remotes_of(tmp_path, direction) == []


def test_a_remote_is_written_as_kamu_writes_it(tmp_path: Path) -> None:
    remember_remote(tmp_path, Direction.PULL, REMOTE)
    assert (tmp_path / "info" / "config").read_text() == AS_KAMU_WRITES_IT


def test_a_remote_that_kamu_wrote_is_read(tmp_path: Path) -> None:
    write_config(tmp_path, AS_KAMU_WRITES_IT)
    assert remotes_of(tmp_path, Direction.PULL) == [REMOTE]
    assert remotes_of(tmp_path, Direction.PUSH) == []


def test_a_remote_is_kept_once_and_the_directions_apart(tmp_path: Path) -> None:
    for _ in range(2):
        remember_remote(tmp_path, Direction.PULL, REMOTE)
    remember_remote(tmp_path, Direction.PUSH, "file:///elsewhere")
    remember_remote(tmp_path, Direction.PUSH, REMOTE)
    assert remotes_of(tmp_path, Direction.PULL) == [REMOTE]
    assert remotes_of(tmp_path, Direction.PUSH) == ["file:///elsewhere", REMOTE]


def test_what_else_stands_in_the_file_is_kept(tmp_path: Path) -> None:
    write_config(tmp_path, "kind: DatasetConfig\nversion: 1\ncontent:\n  later:\n  - a: 1\n    b: [true, null, x]\n")
    remember_remote(tmp_path, Direction.PULL, REMOTE)
    text = (tmp_path / "info" / "config").read_text()
    assert "  later:\n  - a: 1\n    b:\n    - true\n    - null\n    - x\n" in text


@pytest.mark.parametrize(
    "text",
    ["", "x", "[]", "kind: Other\nversion: 1\ncontent: {}", "kind: DatasetConfig", "a: [", "content: {}\n---\n{}"]
    + [f"kind: DatasetConfig\nversion: 1\ncontent: {{pullAliases: {value}}}" for value in ("x", "[1]", "{a: b}")],
)
def test_a_file_that_says_something_else_is_refused_and_not_overwritten(tmp_path: Path, text: str) -> None:
    write_config(tmp_path, text)
    with pytest.raises(MalformedManifest):
        remember_remote(tmp_path, Direction.PULL, REMOTE)
    assert (tmp_path / "info" / "config").read_text() == text
