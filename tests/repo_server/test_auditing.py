"""Requests in the audit log: every write, every refused one, who and from where; reading leaves nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog.audit_chain import AuditEntry
from catalog.catalog import open_catalog
from opendatafabric.errors import OdfError
from repo_server.audit_queue import REFUSALS_OF_ONE
from repo_server.auditing import Audited, usual
from repo_server.config import Tenancy
from repo_server.routes import DATASET_ROUTES, IPFS_ROUTES, NODE_ROUTES, Route
from sync.transfer import TransferOptions
from tests.repo_server.hosted import SMALL, Hosted, a_chain, hash_of, hosted
from tests.repo_server.test_smart import knock, push
from tests.storage.chains import ChainBuilder

ROUTES = NODE_ROUTES + IPFS_ROUTES + DATASET_ROUTES
ASKED_BY_POST = {"/query", "/verify", "/graphql", "/platform/token/device"}
"""Routes that change nothing, or seldom and say so themselves."""


async def entries(server: Hosted, count: int) -> Sequence[AuditEntry]:
    """All entries, oldest first, once there are ``count`` of them."""
    async with asyncio.timeout(30):
        while len(found := await server.catalog.audit.list()) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert await server.catalog.audit.check() is None
    return found[::-1]


def details(entry: AuditEntry, *names: str) -> tuple[Any, ...]:
    return tuple(entry.details.get(name) for name in names)


async def test_a_push_is_written_down_before_its_client_hears_of_it(server: Hosted) -> None:
    chain = a_chain()
    await push(server, chain, "new")
    pushed = (await entries(server, 1))[-1]
    assert (pushed.action, pushed.subject) == ("GET /push", str(server.alias("new")))
    assert details(pushed, "by", "account", "outcome", "address") == ("request", "alice", "ok", "127.0.0.1")
    assert details(pushed, "dataset_id", "old_head", "new_head") == (str(chain.id), None, str(chain.head))
    [info] = await server.catalog.tokens.list(server.accounts["alice"])
    assert details(pushed, "account_id", "token") == (str(server.accounts["alice"].id), info.id)


async def test_objects_that_are_sent_are_added_up_when_the_server_ends(tmp_path: Path) -> None:
    chain = a_chain()
    async with hosted(tmp_path, Tenancy.MULTI) as server:
        await push(server, chain, "new")
        assert [entry.action for entry in await entries(server, 1)] == ["GET /push"]
    async with open_catalog(server.settings.database_url) as catalog:
        [_, sent] = (await catalog.audit.list())[::-1]
    assert (sent.action, sent.subject) == ("PUT /data/{hash}", "alice/new")
    assert sent.details["times"] == len(chain.slices)
    assert sent.details["bytes"] == sum(map(len, chain.slices.values()))


async def test_a_refused_push_says_why(server: Hosted, chain: ChainBuilder) -> None:
    other = a_chain(3)
    with pytest.raises(OdfError):
        await push(server, other, "open", options=TransferOptions(force=True))
    await knock(server, server.path("open") + "/push", "bob")
    forced, forbidden = await entries(server, 2)
    assert details(forced, "account", "outcome", "code") == ("alice", "refused", "seed-conflict")
    assert details(forbidden, "account", "status", "outcome") == ("bob", 403, "refused")
    assert details(forbidden, "dataset_id") == (str(chain.id),)


async def test_a_push_that_breaks_off_is_told_so(server: Hosted, chain: ChainBuilder) -> None:
    headers = {"x-odf-smtp-version": "1", **server.as_("alice")}
    async with server.session.ws_connect(f"{server.url}{server.path('open')}/push", headers=headers) as socket:
        await socket.close()
    [entry] = await entries(server, 1)
    assert details(entry, "outcome", "new_head") == ("broken off", None)


@pytest.mark.parametrize(
    ("who", "status"), [(None, 403), ("bob", 403), ("ka_" + "0" * 58, 401)], ids=("anonymous", "bob", "bad token")
)
async def test_a_refused_write_is_in_the_log_without_the_token(multi: Hosted, who: str | None, status: int) -> None:
    chain = a_chain()
    await multi.add("open", chain)
    answer = await multi.ask("PUT", "/alice/open/gate", who=who, data=b"{}")
    assert answer.status == status
    [entry] = await entries(multi, 1)
    assert (entry.action, entry.subject) == ("PUT /gate", "alice/open")
    assert details(entry, "status", "outcome", "account") == (status, "refused", "bob" if who == "bob" else None)
    assert entry.details["request"] == answer.headers["X-Request-Id"]
    assert multi.tokens.get(str(who), "ka_") not in orjson.dumps(entry.as_dict()).decode()


async def test_a_write_through_a_route_is_in_the_log_once_with_its_code(server: Hosted, chain: ChainBuilder) -> None:
    path = server.path("open")
    assert (await server.ask("PUT", path + "/gate", who="alice", data=b"{}", headers=JSON)).status == 200
    wrong = await server.ask("PUT", f"{path}/data/{hash_of(SMALL, chain)}", who="alice", data=b"other bytes")
    assert wrong.status == 400
    done, refused = await entries(server, 2)
    assert details(done, "outcome", "status", "account") == ("ok", 200, "alice")
    assert details(refused, "outcome", "code", "status") == ("refused", "hash-mismatch", 400)


JSON = {"Content-Type": "application/json"}


async def test_reading_leaves_nothing(server: Hosted, chain: ChainBuilder) -> None:
    for path in ("/refs/head", f"/data/{hash_of(SMALL, chain)}", "/gate", "/nothing"):
        await server.ask("GET", server.path("open") + path, who="alice")
    await server.ask("GET", server.path("secret") + "/refs/head")
    assert await server.catalog.audit.list() == []


async def test_what_strangers_write_is_one_harmless_line(multi: Hosted) -> None:
    hostile = {"User-Agent": "a\tb\u202e" + "x" * 1_000, "X-Request-Id": "not; an id"}
    await multi.ask("PUT", "/%1b%5b2J/a%0ab/gate", data=b"{}", headers=hostile)
    [entry] = await entries(multi, 1)
    assert entry.subject == "\\u001b[2J/a\\u000ab"
    assert len(entry.details["agent"]) <= 600
    assert entry.details["agent"].startswith("a\\u0009b")
    assert "not; an id" not in orjson.dumps(entry.as_dict()).decode()


async def test_a_login_that_fails_is_in_the_log_without_the_password(server: Hosted) -> None:
    credentials = orjson.dumps({"login": "alice", "password": "wrong-pass-word"}).decode()
    body = orjson.dumps({"loginMethod": "password", "loginCredentialsJson": credentials})
    assert (await server.ask("POST", "/platform/login", data=body, headers=JSON)).status == 401
    [entry] = await entries(server, 1)
    assert (entry.action, entry.details["outcome"]) == ("POST /platform/login", "refused")
    assert "wrong-pass-word" not in orjson.dumps(entry.as_dict()).decode()


async def test_an_address_is_the_one_a_trusted_proxy_tells(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, trusted_proxies="127.0.0.1") as server:
        await server.ask("PUT", "/alice/a/gate", data=b"{}", headers={"X-Forwarded-For": "1.1.1.1, 198.51.100.7"})
        [entry] = await entries(server, 1)
        assert entry.details["address"] == "198.51.100.7"


async def test_a_flood_of_refused_writes_does_not_fill_the_log(multi: Hosted) -> None:
    async def refused() -> None:
        await multi.ask("DELETE", "/alice/nothing/gate")

    for _ in range(REFUSALS_OF_ONE.count // 10 + 2):
        await asyncio.gather(*(refused() for _ in range(10)))
    found = await entries(multi, REFUSALS_OF_ONE.count)
    assert len(found) == REFUSALS_OF_ONE.count


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_that_writes_is_written_down(route: Route) -> None:
    if route.method in {"GET", "HEAD"}:
        assert (route.audited is Audited.EACH) == (route.path == "/push")
    else:
        assert (route.audited or usual(route.method)) is not Audited.NOT or route.path in ASKED_BY_POST
