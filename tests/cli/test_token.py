"""``odf token`` makes, lists and ends tokens; ``odf login`` keeps one; ``odf reindex`` rebuilds the index."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cli.durations import duration_s
from sync.credentials import token_for
from tests.cli.runner import odf
from tests.source_tree import ROOT


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    odf("init", tmp_path / "repository")
    return tmp_path / "repository"


def test_create_prints_the_token_and_nothing_else(repository: Path) -> None:
    ran = odf("token", "create", "alice", "--repo", repository)
    assert (ran.code, ran.stderr, len(ran.lines)) == (0, "", 1)
    assert ran.lines[0].startswith("ka_")
    assert len(ran.lines[0]) == 61


def test_tokens_are_listed_without_their_text(repository: Path) -> None:
    options = ("--scope", "datasets:read", "--dataset", "alice/net.*", "--expires", "30d")
    text = odf("token", "create", "alice", *options, "--repo", repository).lines[0]
    listed = odf("token", "list", "alice", "--repo", repository, "--json")
    (info,) = listed.json()  # type: ignore[misc]
    assert (info["account"], info["scopes"], info["state"]) == ("alice", ["datasets:read"], "valid")
    assert (info["datasets"], info["lastUsedAt"]) == (["alice/net.%"], None)
    assert text[10:40].encode() not in listed.stdout


@pytest.mark.parametrize(("options", "days"), [((), 90), (("--expires", "30d"), 30), (("--expires", "never"), None)])
def test_a_token_ends_unless_it_is_told_not_to(repository: Path, options: tuple[str, ...], days: int | None) -> None:
    odf("token", "create", "alice", *options, "--repo", repository)
    (info,) = odf("token", "list", "--repo", repository, "--json").json()  # type: ignore[misc]
    lasts = info["expiresAt"] and datetime.fromisoformat(info["expiresAt"]) - datetime.fromisoformat(info["createdAt"])
    assert (lasts and round(lasts / timedelta(days=1), 3)) == days


def test_a_token_is_for_pushes_to_every_dataset_if_nothing_is_said(repository: Path) -> None:
    odf("token", "create", "alice", "--repo", repository)
    cells = odf("token", "list", "--repo", repository).lines[1].split()
    assert cells[2:4] == ["datasets:push", "all"]


@pytest.mark.parametrize(("word", "scope"), [("read", "datasets:read"), ("write", "datasets:manage")])
def test_the_words_of_former_times_still_name_scopes(repository: Path, word: str, scope: str) -> None:
    odf("token", "create", "alice", "--scope", word, "--repo", repository)
    (info,) = odf("token", "list", "--repo", repository, "--json").json()  # type: ignore[misc]
    assert info["scopes"] == [scope]


@pytest.mark.parametrize("options", [("--scope", "root"), ("--dataset", "a/b/c"), ("--dataset", "../x")])
def test_what_no_token_can_be_bound_to_is_a_usage_error(repository: Path, options: tuple[str, ...]) -> None:
    assert odf("token", "create", "alice", *options, "--repo", repository).code == 2
    assert odf("token", "list", "--repo", repository, "--json").json() == []


def test_a_revoked_token_is_shown_as_such_and_cannot_be_revoked_again(repository: Path) -> None:
    odf("token", "create", "alice", "--repo", repository)
    (info,) = odf("token", "list", "--repo", repository, "--json").json()  # type: ignore[misc]
    assert odf("token", "revoke", info["id"], "--repo", repository).code == 0
    assert "revoked" in odf("token", "list", "--repo", repository).lines[1]
    assert odf("token", "revoke", info["id"], "--repo", repository).code == 4


def test_no_catalog_is_made_in_a_folder_that_is_no_repository(tmp_path: Path) -> None:
    assert odf("token", "create", "alice", "--repo", tmp_path).code == 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("account", ["", "a b", "-x"])
def test_an_account_outside_the_grammar_is_a_usage_error(repository: Path, account: str) -> None:
    assert odf("token", "create", "--repo", repository, "--", account).code == 2


@pytest.mark.parametrize(
    ("text", "seconds"), [("1s", 1), ("90m", 5400), ("12h", 43200), ("30d", 2592000), ("2w", 1209600)]
)
def test_lengths_of_time_have_a_unit(text: str, seconds: int) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "3", "0d", "-1d", "1y", "1.5h", " 1d", "9999999999d"])
def test_other_lengths_of_time_are_usage_errors(repository: Path, text: str) -> None:
    assert odf("token", "create", "alice", f"--expires={text}", "--repo", repository).code == 2


def test_login_reads_the_token_from_a_pipe_and_never_prints_it(repository: Path) -> None:
    ran = odf("login", "http://127.0.0.1:9/", stdin="ka_secret\n")
    assert ran.code == 0
    assert token_for("odf+http://127.0.0.1:9/a/b") == "ka_secret"
    assert b"ka_secret" not in ran.stdout
    assert "ka_secret" not in ran.stderr


def test_login_without_a_token_is_refused(repository: Path) -> None:
    assert odf("login", "http://127.0.0.1:9/", stdin="").code == 6
    assert odf("login", "ftp://127.0.0.1/", "--access-token", "x").code == 2


def test_reindex_counts_what_it_finds(repository: Path) -> None:
    odf("pull", "--repo", repository, ROOT / "examples" / "datasets" / "iowa.electricity")
    assert odf("reindex", "--repo", repository, "--json").json() == {"found": 1, "added": 1, "removed": 0}
    assert odf("reindex", "--repo", repository).lines == ["1 datasets, 0 new, 0 gone"]
