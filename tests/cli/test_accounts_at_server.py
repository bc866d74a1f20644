"""``odf account`` and ``odf token`` with ``--repo URL`` ask the server, as whoever is logged in there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from cli import account_places
from cli.server_api import ServerApi
from opendatafabric.errors import AuthenticationRequired, MalformedInput, PeerUnavailable
from repo_server.config import Tenancy
from sync.credentials import save_token
from tests.cli.runner import Ran, odf
from tests.repo_server.hosted import Hosted, hosted

PASSWORD = "correct horse battery"


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hosted]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    async with hosted(tmp_path / "served", Tenancy.MULTI, run_worker=False) as running:
        yield running


async def run(server: Hosted, who: str, *words: object, stdin: str = "") -> Ran:
    save_token(server.url, server.tokens.get(who, who))
    return await asyncio.to_thread(odf, *words, "--repo", server.url, stdin=stdin)


async def test_somebody_makes_lists_and_revokes_tokens_of_their_own(server: Hosted) -> None:
    options = ("--scope", "datasets:read", "--dataset", "alice/net.*", "--expires", "1h")
    made = await run(server, "alice", "token", "create", "alice", *options)
    assert (made.code, made.stderr, len(made.lines)) == (0, "", 1)
    known = await server.catalog.tokens.authenticate(made.lines[0])
    assert (known.account.name, [str(each) for each in known.datasets]) == ("alice", ["alice/net.%"])
    (_, info) = (await run(server, "alice", "token", "list", "--json")).json()  # type: ignore[misc]
    assert (info["scopes"], info["state"]) == (["datasets:read"], "valid")
    assert (await run(server, "alice", "token", "list", "Alice")).lines[1:]
    assert (await run(server, "alice", "token", "revoke", info["id"])).code == 0
    assert (await run(server, "alice", "token", "revoke", info["id"])).code == 4
    with pytest.raises(AuthenticationRequired):
        await server.catalog.tokens.authenticate(made.lines[0])


async def test_a_server_makes_no_tokens_of_others_and_none_without_an_end(server: Hosted) -> None:
    never, long, admin = ("--expires", "never"), ("--expires", "500d"), ("--scope", "admin")
    for words in (("bob",), ("alice", *never), ("alice", *long), ("alice", *admin)):
        ran = await run(server, "alice", "token", "create", *words)
        assert ran.code != 0
        assert ran.stdout == b""
    assert len(await server.catalog.tokens.list(server.accounts["alice"])) == 1


async def test_an_administrator_makes_shows_and_changes_accounts(server: Hosted) -> None:
    made = await run(server, "root", "account", "create", "carol", "--password", stdin=PASSWORD + "\n")
    assert (made.code, made.lines[0].split()[0]) == (0, "carol")
    assert (await server.catalog.accounts.check_password(server.alias("x", "carol").account, PASSWORD)).name == "carol"
    for words, state in (
        (("disable", "carol"), "disabled"),
        (("enable", "carol"), "enabled"),
        (("make-admin", "carol"), "administrator"),
        (("unmake-admin", "carol"), "enabled"),
        (("show", "carol"), "enabled"),
    ):
        assert (await run(server, "root", "account", *words)).lines[0].split()[-1] == state
    changed = await run(server, "root", "account", "set-password", "carol", stdin="another one\n")
    assert changed.code == 0
    assert (await run(server, "root", "token", "list", "carol", "--json")).json() == []


async def test_a_list_is_asked_for_in_parts(server: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_places, "_AT_ONCE", 2)
    listed = await run(server, "root", "account", "list")
    assert [line.split()[0] for line in listed.lines[1:]] == ["alice", "bob", "default", "root"]


@pytest.mark.parametrize(
    ("who", "words", "code"),
    [
        ("alice", ("account", "list"), 6),
        ("nonsense", ("account", "list"), 6),
        ("root", ("account", "show", "nobody"), 4),
        ("root", ("account", "create", "bob"), 5),
        ("root", ("account", "disable", "root"), 5),
        ("root", ("account", "bootstrap"), 1),
    ],
)
async def test_what_the_server_refuses_ends_with_the_code_for_it(
    server: Hosted, who: str, words: tuple[str, ...], code: int
) -> None:
    ran = await run(server, who, *words)
    assert (ran.code, ran.stdout) == (code, b"")
    assert "odf: " in ran.stderr


async def asked_of(answer: web.Response) -> object:
    """What is made of an answer."""

    async def give(_: web.Request) -> web.Response:
        return answer

    application = web.Application()
    application.router.add_get("/x", give)
    async with TestServer(application) as running, aiohttp.ClientSession() as session:
        return await ServerApi(session, str(running.make_url("/"))).ask("GET", "/x")


async def test_an_empty_answer_is_nothing() -> None:
    assert await asked_of(web.Response(status=204)) is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (web.Response(body=b"<html>"), PeerUnavailable),
        (web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}), PeerUnavailable),
        (web.Response(status=500), PeerUnavailable),
        (web.json_response({"message": 7, "hint": ["x"]}, status=400), MalformedInput),
        (web.json_response([], status=401), AuthenticationRequired),
    ],
)
async def test_an_answer_of_another_kind_is_an_error_of_ours(answer: web.Response, expected: type[Exception]) -> None:
    with pytest.raises(expected):
        await asked_of(answer)


async def test_words_of_a_server_are_cut() -> None:
    with pytest.raises(MalformedInput) as caught:
        await asked_of(web.json_response({"message": "x" * 10_000}, status=400))
    assert len(caught.value.message) == 500


async def test_an_administrator_renames_and_deletes_and_everybody_deletes_their_own(server: Hosted) -> None:
    renamed = await run(server, "root", "account", "rename", "bob", "bob-b")
    assert renamed.lines[0].split()[0] == "bob-b"
    assert (await run(server, "alice", "account", "delete", "bob-b")).code != 0
    assert (await run(server, "bob", "account", "delete", "bob-b", "--json")).json() == {"deleted": "bob-b"}
    assert (await run(server, "root", "account", "delete", "alice")).code == 0
