"""``odf account`` makes accounts and says what they may do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from catalog.catalog import open_catalog
from catalog.scopes import Scope
from catalog.tokens import Authenticated
from opendatafabric.errors import AuthenticationRequired
from opendatafabric.names import AccountName
from repo_server.config import Settings
from tests.cli.runner import Ran, odf

pytestmark = pytest.mark.slow

PASSWORD = "correct horse battery"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    odf("init", tmp_path / "repository")
    return tmp_path / "repository"


def account(repository: Path, *words: str, stdin: str = "") -> Ran:
    return odf("account", *words, "--repo", repository, stdin=stdin)


def shown(repository: Path, name: str) -> dict[str, Any]:
    found = account(repository, "show", name, "--json").json()
    assert isinstance(found, dict)
    return found


def speaks_for(repository: Path, token: str) -> Authenticated:
    async def asked() -> Authenticated:
        async with open_catalog(Settings(repo=repository).database_url) as catalog:
            return await catalog.tokens.authenticate(token)

    return asyncio.run(asked())


def logs_in(repository: Path, name: str, password: str) -> bool:
    async def asked() -> bool:
        async with open_catalog(Settings(repo=repository).database_url) as catalog:
            try:
                await catalog.accounts.check_password(AccountName(name), password)
            except AuthenticationRequired:
                return False
            return True

    return asyncio.run(asked())


def test_bootstrap_prints_a_token_for_everything_and_nothing_else(repository: Path) -> None:
    ran = account(repository, "bootstrap")
    assert (ran.code, ran.stderr, len(ran.lines)) == (0, "", 1)
    known = speaks_for(repository, ran.lines[0])
    assert (known.account.name, known.account.is_admin, known.scopes) == ("admin", True, set(Scope))
    (info,) = odf("token", "list", "--repo", repository, "--json").json()  # type: ignore[misc]
    assert info["expiresAt"] is not None


def test_bootstrap_works_once(repository: Path) -> None:
    assert account(repository, "bootstrap", "alice").code == 0
    again = account(repository, "bootstrap", "bob")
    assert (again.code, again.stdout) == (5, b"")
    assert "has an administrator" in again.stderr


def test_an_account_is_made_and_shown(repository: Path) -> None:
    assert account(repository, "create", "Alice").lines[0].split()[::4] == ["Alice", "enabled"]
    assert shown(repository, "alice") == {
        "id": shown(repository, "alice")["id"],
        "accountName": "Alice",
        "kind": "user",
        "isAdmin": False,
        "hasPassword": False,
        "disabled": False,
    }
    assert account(repository, "create", "ALICE").code == 5
    assert account(repository, "show", "bob").code == 4


def test_an_organisation_is_made_and_never_logs_in(repository: Path) -> None:
    assert account(repository, "create", "office", "--organization", "--json").json()["kind"] == "organization"  # type: ignore[index]
    assert account(repository, "set-password", "office", stdin=PASSWORD + "\n").code != 0
    assert account(repository, "create", "other", "--organization", "--admin").code != 0
    assert account(repository, "show", "other").code == 4


def test_accounts_are_listed_by_name(repository: Path) -> None:
    account(repository, "create", "bob", "--admin")
    account(repository, "create", "alice")
    assert [line.split()[0] for line in account(repository, "list").lines] == ["ACCOUNT", "alice", "bob"]
    listed = account(repository, "list", "--json").json()
    assert [each["isAdmin"] for each in listed] == [False, True]  # type: ignore[attr-defined]


def test_a_password_comes_from_a_pipe_and_is_never_printed(repository: Path) -> None:
    made = account(repository, "create", "alice", "--password", stdin=PASSWORD + "\n")
    assert shown(repository, "alice")["hasPassword"]
    assert logs_in(repository, "alice", PASSWORD)
    changed = account(repository, "set-password", "alice", stdin=PASSWORD + " 2\n")
    assert [logs_in(repository, "alice", given) for given in (PASSWORD, PASSWORD + " 2")] == [False, True]
    refused = account(repository, "set-password", "alice", stdin="secret\n")
    assert refused.code == 3
    log = odf("audit", "list", "--repo", repository, "--json").stdout
    printed = made.stdout + changed.stdout + refused.stdout + log + refused.stderr.encode()
    assert PASSWORD.encode() not in printed
    assert b"secret" not in printed


def test_a_disabled_account_has_no_tokens_until_it_is_enabled(repository: Path) -> None:
    token = odf("token", "create", "alice", "--repo", repository).lines[0]
    assert account(repository, "disable", "alice").lines[0].split()[-1] == "disabled"
    with pytest.raises(AuthenticationRequired):
        speaks_for(repository, token)
    assert account(repository, "enable", "alice").lines[0].split()[-1] == "enabled"
    assert speaks_for(repository, token).account.name == "alice"


def test_an_administrator_is_made_and_unmade_but_for_the_last_one(repository: Path) -> None:
    account(repository, "bootstrap", "alice")
    account(repository, "create", "bob")
    assert account(repository, "unmake-admin", "alice").code == 5
    assert account(repository, "make-admin", "bob").lines[0].split()[-1] == "administrator"
    assert account(repository, "unmake-admin", "alice").lines[0].split()[-1] == "enabled"
    assert account(repository, "disable", "bob").code == 5


@pytest.mark.parametrize("name", ["", "a b", "-x", "accounts", "../x"])
def test_a_name_that_no_account_can_have_is_a_usage_error(repository: Path, name: str) -> None:
    assert odf("account", "create", "--repo", repository, "--", name).code == 2
    assert account(repository, "list", "--json").json() == []


def test_every_change_stands_in_the_audit_log(repository: Path) -> None:
    account(repository, "bootstrap", "alice")
    account(repository, "create", "bob", "--password", stdin=PASSWORD)
    account(repository, "disable", "bob")
    account(repository, "list")
    entries = odf("audit", "list", "--repo", repository, "--json").json()["entries"]  # type: ignore[index]
    told = [(entry["action"], entry["subject"]) for entry in entries]
    expected = [("odf account disable", "bob"), ("odf account create", "bob"), ("odf account bootstrap", "alice")]
    assert told[:3] == expected


def test_an_account_is_renamed_and_deleted(repository: Path) -> None:
    assert account(repository, "create", "alice").code == 0
    assert account(repository, "rename", "alice", "alice-m").lines[0].split()[0] == "alice-m"
    assert account(repository, "create", "alice").code == 5
    assert account(repository, "delete", "alice-m").lines == ["alice-m is deleted"]
    assert account(repository, "delete", "alice-m").code == 4


def test_an_identity_of_an_issuer_is_linked_to_an_account_that_is_there(repository: Path) -> None:
    known = ("https://id.example.org", "2482")
    assert account(repository, "create", "alice", "--password", stdin=PASSWORD + "\n").code == 0
    assert account(repository, "create", "bob").code == 0
    assert account(repository, "link", "alice", *known).lines == ["2482 of https://id.example.org logs in to alice"]
    assert account(repository, "link", "alice", *known).code == 0
    assert account(repository, "identities", "alice", "--json").json() == [{"issuer": known[0], "subject": "2482"}]
    assert account(repository, "link", "bob", *known).code == 5
    assert account(repository, "unlink", "bob", *known).code == 4
    assert account(repository, "unlink", "alice", *known, "--json").code == 0
    assert account(repository, "link", "bob", *known).code == 0
    assert account(repository, "link", "bob", known[0], "x" * 256).code != 0


def test_an_organisation_has_no_identity(repository: Path) -> None:
    assert account(repository, "create", "office", "--organization").code == 0
    assert account(repository, "link", "office", "https://id.example.org", "1").code != 0
