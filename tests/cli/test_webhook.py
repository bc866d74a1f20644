"""``odf webhook``: where the repository lies, and at a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from repo_server.config import Tenancy
from tests.cli.runner import Ran, odf
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.repo_server.webhooks.receiver import receiving

pytestmark = pytest.mark.slow

URL = "https://me:s3cr3t@chat.example.org/hooks/s3cr3t"
NOWHERE = "8c5e3a52-7c1e-4a53-a8a4-0c6f3b0e9d11"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    odf("init", tmp_path / "repository")
    odf("account", "create", "alice", "--repo", tmp_path / "repository")
    return tmp_path / "repository"


def webhook(repository: object, *words: object) -> Ran:
    return odf("webhook", *words, "--repo", repository)


def test_it_is_added_listed_paused_resumed_and_removed(repository: Path) -> None:
    added = webhook(repository, "add", URL, "--account", "alice", "--event", "head-moved", "--own")
    (webhook_id,) = added.lines
    shown = webhook(repository, "list")
    assert webhook_id in shown.stdout.decode()
    assert "s3cr3t" not in (shown.stdout + added.stdout).decode()
    states = [webhook(repository, verb, webhook_id, "--json").json()["state"] for verb in ("pause", "resume")]
    assert states == ["paused", "active"]
    assert webhook(repository, "remove", webhook_id).code == 0
    assert webhook(repository, "list", "--json").json() == []


def test_a_secret_is_printed_once(repository: Path) -> None:
    webhook_id, secret = webhook(repository, "add", URL, "--account", "alice", "--secret").lines
    assert secret not in webhook(repository, "list", "--json").stdout.decode()
    (found,) = webhook(repository, "list", "--account", "alice", "--json").json()
    assert (found["id"], found["signedWithSecret"], found["reach"]) == (webhook_id, True, "all")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("add", URL), 2),
        (("add", "http://example.org/", "--account", "alice"), 2),
        (("add", URL, "--account", "alice", "--event", "nonsense"), 2),
        (("remove", NOWHERE), 4),
        (("test", NOWHERE), 4),
    ],
)
def test_what_cannot_be_done_is_refused(repository: Path, words: tuple[str, ...], code: int) -> None:
    ran = webhook(repository, *words)
    assert ran.code != 0
    assert "s3cr3t" not in ran.stderr


def test_a_test_that_is_not_taken_fails_and_stands_in_the_log(repository: Path) -> None:
    (webhook_id,) = webhook(repository, "add", "https://127.0.0.1:9/s3cr3t", "--account", "alice").lines
    ran = webhook(repository, "test", webhook_id)
    assert (ran.code, "its address is not public" in ran.stdout.decode()) == (1, True)
    log = webhook(repository, "deliveries", webhook_id)
    assert "webhook-test" in log.stdout.decode()
    assert "s3cr3t" not in log.stdout.decode()


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hosted]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    async with hosted(tmp_path, Tenancy.MULTI, run_worker=False, webhook_private_places=True) as running:
        await running.add("open", a_chain(1))
        await ran("login", running.url, stdin=running.tokens["alice"])
        yield running


async def ran(*words: object, stdin: str = "") -> Ran:
    return await asyncio.to_thread(odf, *words, stdin=stdin)


@pytest.mark.parametrize("place", [(), ("--dataset", "alice/open")], ids=["own", "of a dataset"])
async def test_it_is_the_same_at_a_server(server: Hosted, place: tuple[str, ...]) -> None:
    async with receiving() as receiver:

        async def asked(*words: object) -> Any:
            found = await ran("webhook", *words, *place, "--repo", server.url, "--json")
            assert found.code == 0, found.stderr
            return found.json()

        webhook_id = (await asked("add", receiver.address))["id"]
        assert [each["id"] for each in await asked("list")] == [webhook_id]
        assert (await asked("test", webhook_id))["taken"]
        assert [each["type"] for each in await asked("deliveries", webhook_id)] == ["webhook-test"]
        assert (await asked("pause", webhook_id))["state"] == "paused"
        assert (await asked("resume", webhook_id))["state"] == "active"
        await asked("remove", webhook_id)
        assert await asked("list") == []


async def test_a_server_knows_who_asks(server: Hosted) -> None:
    found = await ran("webhook", "add", URL, "--account", "bob", "--repo", server.url)
    assert (found.code != 0, "knows who asks" in found.stderr) == (True, True)
