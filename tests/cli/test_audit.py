"""``odf audit``: the log is checked, printed as JSON lines and archived; commands that change something are in it."""

from __future__ import annotations

import getpass
import shutil
import sqlite3
from pathlib import Path

import orjson
import pytest

from cli.auditing import READING
from storage.repository import Repository
from tests.cli.runner import odf
from tests.test_docs import command_lines


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a catalog and five entries."""
    place = tmp_path_factory.mktemp("filled") / "repository"
    Repository.init(place)
    for name in ("alice", "bob", "carol", "dave", "erin"):
        assert odf("token", "create", name, "--repo", place).code == 0
    return place


@pytest.fixture
def place(filled: Path, tmp_path: Path) -> Path:
    """One of its own for each test."""
    return shutil.copytree(filled, tmp_path / "repository")


def entries(place: Path) -> list[dict[str, object]]:
    return odf("audit", "export", "--repo", place).json_lines()


def test_a_sound_log_says_how_much_was_checked_and_the_newest_entry(place: Path) -> None:
    ran = odf("audit", "verify", "--repo", place, "--json")
    assert ran.code == 0
    newest = entries(place)[-1]
    assert ran.json() == {"entries": 5, "head": f"5:{newest['hash']}", "brokenAt": None}


def test_a_changed_entry_ends_with_3_and_is_named(place: Path) -> None:
    with sqlite3.connect(place / ".catalog.sqlite") as behind_its_back:
        behind_its_back.execute("DROP TRIGGER audit_no_update")
        behind_its_back.execute("UPDATE audit SET subject = 'mallory' WHERE id = 3")
    behind_its_back.close()
    ran = odf("audit", "verify", "--repo", place)
    assert (ran.code, ran.lines) == (3, [])
    assert "from entry 3 on" in ran.stderr
    assert odf("audit", "list", "--repo", place).code == 3


def test_an_entry_noted_before_finds_what_was_cut_off(place: Path) -> None:
    head = f"5:{entries(place)[-1]['hash']}"
    assert odf("audit", "verify", "--head", head, "--repo", place).code == 0
    with sqlite3.connect(place / ".catalog.sqlite") as behind_its_back:
        behind_its_back.execute("DROP TRIGGER audit_no_delete")
        behind_its_back.execute("DELETE FROM audit WHERE id = 5")
    behind_its_back.close()
    assert odf("audit", "verify", "--repo", place).code == 0
    assert odf("audit", "verify", "--head", head, "--repo", place).code == 3


@pytest.mark.parametrize("head", ["5", "x:f", ":f", "5:"])
def test_what_names_no_entry_is_refused(place: Path, head: str) -> None:
    assert odf("audit", "verify", "--head", head, "--repo", place).code == 3


def test_an_export_is_checked_without_the_catalog(place: Path, tmp_path: Path) -> None:
    exported = odf("audit", "export", "--since", "1h", "--repo", place)
    path = tmp_path / "log.jsonl"
    path.write_bytes(exported.stdout)
    assert odf("audit", "verify", path, "--files-only").code == 0
    lines = exported.stdout.splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:1], *lines[2:]]))
    ran = odf("audit", "verify", path, "--files-only", "--json")
    assert ran.code == 3
    assert ran.json()["brokenAt"] == 2  # type: ignore[index]


def test_an_archive_and_the_log_behind_it_are_checked_together(place: Path, tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    assert odf("audit", "archive", path, "--repo", place).lines == ["no entries are that old"]
    archived = odf("audit", "archive", path, "--before", "2100-01-01T00:00:00Z", "--repo", place, "--json").json()
    assert archived == {"archived": 5, "file": str(path)}
    assert entries(place)[0]["action"] == "audit-archived"
    assert odf("audit", "verify", "--repo", place).code == 0
    checked = odf("audit", "verify", path, "--repo", place, "--json")
    assert (checked.code, checked.json()["entries"]) == (0, 6)  # type: ignore[index]
    path.write_bytes(path.read_bytes().replace(b"carol", b"cecil"))
    assert odf("audit", "verify", path, "--repo", place).code == 3


def test_a_command_is_written_down_with_who_ran_it_and_on_what(place: Path) -> None:
    [entry, *_] = entries(place)
    assert (entry["action"], entry["subject"]) == ("odf token create", "alice")
    assert entry["details"] == {
        "by": "command", "user": getpass.getuser(), "options": [], "outcome": "ok"
    }  # fmt: skip


def test_a_command_that_fails_is_written_down_with_the_reason(place: Path) -> None:
    assert odf("token", "revoke", "no-such\ntoken", "--repo", place).code == 4
    entry = entries(place)[-1]
    assert (entry["action"], entry["subject"]) == ("odf token revoke", "no-such\\u000atoken")
    assert entry["details"]["outcome"] == "not-found"  # type: ignore[index]


def test_secrets_in_arguments_are_blotted_out(place: Path) -> None:
    secret = "ka_" + "0" * 58
    odf("token", "revoke", f"https://alice:{secret}@example.org", "--repo", place)
    assert secret not in orjson.dumps(entries(place)).decode()


def test_reading_leaves_no_entry(place: Path) -> None:
    odf("list", "--repo", place)
    odf("token", "list", "--repo", place)
    assert len(entries(place)) == 5


def test_a_repository_without_a_catalog_gets_none_for_it(tmp_path: Path) -> None:
    Repository.init(tmp_path / "repository")
    assert odf("gc", "--repo", tmp_path / "repository").code == 0
    assert not (tmp_path / "repository" / ".catalog.sqlite").exists()


def test_a_command_that_only_looks_because_of_its_options_leaves_no_entry(place: Path) -> None:
    odf("gc", "--dry-run", "--repo", place)
    odf("fsck", "--repo", place)
    assert len(entries(place)) == 5
    odf("fsck", "--repair", "--repo", place)
    [*_, entry] = entries(place)
    assert (entry["action"], entry["details"]["options"]) == ("odf fsck", ["--repair"])  # type: ignore[index]


def test_commands_that_are_said_to_read_exist() -> None:
    assert {" ".join(words) for words in command_lines()} >= READING
