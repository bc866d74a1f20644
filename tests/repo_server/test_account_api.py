"""Accounts and tokens over HTTP: what a token may give away, who may change whom, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import orjson
import pytest

from catalog.accounts import is_reserved
from catalog.scopes import Scope
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.names import AccountName
from repo_server.routes import IPFS_ROUTES, NODE_ROUTES
from tests.repo_server.hosted import Answer, Hosted, a_chain, code_of

TOKENS = "/accounts/me/tokens"
PASSWORD = "correct horse battery"
DAY_S = 86_400


async def send(server: Hosted, method: str, path: str, body: Any, who: str | None = "alice") -> Answer:
    headers = {"Content-Type": "application/json"}
    return await server.ask(method, path, who=who, data=orjson.dumps(body), headers=headers)


async def listed(server: Hosted, path: str = TOKENS, who: str = "alice") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = orjson.loads((await server.ask("GET", path, who=who)).body)
    return found


async def test_somebody_makes_uses_lists_and_revokes_a_token(multi: Hosted) -> None:
    made = await send(multi, "POST", TOKENS, {"scopes": ["datasets:read"], "datasets": ["alice/net.*"]})
    told = orjson.loads(made.body)
    assert (made.status, told["expiresInS"], made.headers["Cache-Control"]) == (201, 90 * DAY_S, "no-store")
    assert (await multi.ask("GET", "/accounts/me", who=told["token"])).status == 200
    [info] = [each for each in await listed(multi) if each["id"] == told["id"]]
    assert (info["scopes"], info["datasets"], info["state"]) == (["datasets:read"], ["alice/net.%"], "valid")
    assert told["token"] not in str(await listed(multi))
    assert (await multi.ask("DELETE", f"{TOKENS}/{told['id']}", who="alice")).status == 204
    assert (await multi.ask("GET", "/accounts/me", who=told["token"])).status == 401
    assert (await multi.ask("DELETE", f"{TOKENS}/{told['id']}", who="alice")).status == 404


async def test_nobody_sees_or_ends_the_tokens_of_others(multi: Hosted) -> None:
    [bobs] = await listed(multi, who="bob")
    assert bobs["id"] not in {each["id"] for each in await listed(multi)}
    assert (await multi.ask("DELETE", f"{TOKENS}/{bobs['id']}", who="alice")).status == 404
    assert (await multi.ask("GET", "/accounts/me", who="bob")).status == 200


@pytest.mark.parametrize("scopes", [(Scope.DATASETS_MANAGE,), (Scope.DATASETS_PUSH, Scope.DATASETS_READ)])
async def test_a_token_that_is_not_good_for_accounts_has_nothing_to_do_with_tokens(
    shared_multi: Hosted, scopes: tuple[Scope, ...]
) -> None:
    token = await shared_multi.token("alice", *scopes)
    assert (await shared_multi.ask("GET", TOKENS, who=token)).status == 403
    assert (await send(shared_multi, "POST", TOKENS, {}, token)).status == 403
    assert (await shared_multi.ask("DELETE", f"{TOKENS}/x", who=token)).status == 403
    assert (await send(shared_multi, "POST", TOKENS, {}, None)).status == 401


@pytest.mark.parametrize("scope", [scope for scope in Scope if scope is not Scope.ADMIN])
async def test_no_token_gives_a_scope_that_it_does_not_have(shared_multi: Hosted, scope: Scope) -> None:
    own = await shared_multi.token("alice", Scope.ACCOUNTS_MANAGE, Scope.DATASETS_READ)
    made = await send(shared_multi, "POST", TOKENS, {"scopes": [scope.value]}, own)
    has_it = scope in {Scope.ACCOUNTS_MANAGE, Scope.DATASETS_READ}
    assert made.status == (201 if has_it else 403)


async def test_only_administrators_give_the_scope_admin(shared_multi: Hosted) -> None:
    assert (await send(shared_multi, "POST", TOKENS, {"scopes": ["admin"]}, "alice")).status == 403
    assert (await send(shared_multi, "POST", TOKENS, {"scopes": ["admin"]}, "root")).status == 201


@pytest.mark.parametrize(
    ("datasets", "status"),
    [
        ([], 403),
        (["alice/net.*"], 201),
        (["Alice/Net.weather"], 201),
        (["alice/net.weather", "alice/*"], 403),
        (["net.weather"], 403),
        (["bob/net.weather"], 403),
        (["alice/net.w*"], 403),
    ],
)
async def test_a_bound_token_gives_none_for_other_datasets(
    shared_multi: Hosted, datasets: list[str], status: int
) -> None:
    own = await shared_multi.bound_token("alice", "alice/net.*")
    assert (await send(shared_multi, "POST", TOKENS, {"datasets": datasets}, own)).status == status


@pytest.mark.parametrize(
    ("expires_in_s", "status"),
    [(1, 201), (366 * DAY_S, 201), (366 * DAY_S + 1, 400), (0, 400), (-1, 400), (None, 201), ("1", 400), (True, 400)],
)
async def test_a_token_lives_no_longer_than_is_allowed(shared_multi: Hosted, expires_in_s: Any, status: int) -> None:
    assert (await send(shared_multi, "POST", TOKENS, {"expiresInS": expires_in_s})).status == status


@pytest.mark.parametrize(
    "body",
    [
        {"account": "bob"},
        {"accountId": "did:odf:x"},
        {"expires_in_s": 5},
        {"scopes": "admin"},
        {"scopes": ["root"]},
        {"scopes": [None]},
        {"datasets": [7]},
        {"datasets": ["../x"]},
        {"datasets": ["a/b"] * 101},
        {"id": "x", "scopes": []},
    ],
)
async def test_what_a_token_request_may_not_say_is_refused_and_makes_none(multi: Hosted, body: dict[str, Any]) -> None:
    before = len(await listed(multi))
    assert (await send(multi, "POST", TOKENS, body)).status in {400, 413}
    assert len(await listed(multi)) == before


async def test_an_administrator_makes_lists_and_changes_accounts(multi: Hosted) -> None:
    made = await send(multi, "POST", "/accounts", {"accountName": "Carol", "password": PASSWORD}, "root")
    assert made.status == 201
    carol = orjson.loads(made.body)
    assert {**carol, "id": ""} == {
        "id": "", "accountName": "Carol", "kind": "user", "isAdmin": False, "hasPassword": True, "disabled": False,
    }  # fmt: skip
    assert orjson.loads((await multi.ask("GET", "/accounts/CAROL", who="root")).body) == carol
    assert await multi.catalog.accounts.check_password(AccountName("carol"), PASSWORD)
    names = [each["accountName"] for each in await listed(multi, "/accounts", "root")]
    assert names == ["alice", "bob", "Carol", "default", "root"]
    assert (await send(multi, "POST", "/accounts", {"accountName": "carol"}, "root")).status == 409


async def test_a_long_list_of_accounts_is_read_in_parts(multi: Hosted) -> None:
    path, names = "/accounts?limit=2", []
    for _ in itertools.count():
        answer = await multi.ask("GET", path, who="root")
        names += [each["accountName"] for each in orjson.loads(answer.body)]
        if "Link" not in answer.headers:
            break
        path = answer.headers["Link"].partition("<")[2].partition(">")[0]
    assert names == ["alice", "bob", "default", "root"]


@pytest.mark.parametrize("limit", ["0", "1001", "x", "-1", "\u0661", "9" * 5_000])
async def test_a_limit_that_is_none_is_refused(shared_multi: Hosted, limit: str) -> None:
    assert (await shared_multi.ask("GET", f"/accounts?limit={limit}", who="root")).status == 400


async def test_a_disabled_account_is_shut_out_at_once_and_let_in_again(multi: Hosted) -> None:
    changed = await send(multi, "PATCH", "/accounts/bob", {"disabled": True}, "root")
    assert orjson.loads(changed.body)["disabled"] is True
    assert (await multi.ask("GET", "/accounts/me", who="bob")).status == 401
    assert (await send(multi, "PATCH", "/accounts/bob", {"disabled": False}, "root")).status == 200
    assert (await multi.ask("GET", "/accounts/me", who="bob")).status == 200


async def test_the_last_administrator_cannot_go(multi: Hosted) -> None:
    for body in ({"disabled": True}, {"isAdmin": False}):
        assert (await send(multi, "PATCH", "/accounts/root", body, "root")).status == 409
    assert (await send(multi, "PATCH", "/accounts/bob", {"isAdmin": True}, "root")).status == 200
    assert (await send(multi, "PATCH", "/accounts/root", {"isAdmin": False}, "bob")).status == 200
    assert (await multi.ask("GET", "/accounts", who="root")).status == 403


async def test_an_administrator_sees_and_ends_the_tokens_of_an_account(multi: Hosted) -> None:
    [info] = await listed(multi, "/accounts/bob/tokens", "root")
    assert (await multi.ask("DELETE", f"/accounts/alice/tokens/{info['id']}", who="root")).status == 404
    assert (await multi.ask("DELETE", f"/accounts/bob/tokens/{info['id']}", who="root")).status == 204
    assert (await multi.ask("GET", "/accounts/me", who="bob")).status == 401


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/accounts", None),
        ("POST", "/accounts", {"accountName": "x"}),
        ("GET", "/accounts/alice", None),
        ("PATCH", "/accounts/alice", {"isAdmin": True}),
        ("GET", "/accounts/alice/tokens", None),
        ("DELETE", "/accounts/alice/tokens/x", None),
    ],
)
async def test_others_have_nothing_to_do_with_accounts(shared_multi: Hosted, method: str, path: str, body: Any) -> None:
    reading = await shared_multi.token("root", *(scope for scope in Scope if scope is not Scope.ADMIN))
    for who, status in ((None, 401), ("alice", 403), (reading, 403)):
        assert (await send(shared_multi, method, path, body, who)).status == status
    assert not (await shared_multi.catalog.accounts.find(AccountName("alice"))).is_admin


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/accounts", {"accountName": "../x"}, 400),
        ("/accounts", {"accountName": "accounts"}, 400),
        ("/accounts", {"accountName": "x", "id": "did:odf:x"}, 400),
        ("/accounts", {"accountName": "x", "password": "short"}, 400),
        ("/accounts", {"accountName": "x", "isAdmin": 1}, 400),
        ("/accounts", {"accountName": "x", "kind": "robot"}, 400),
        ("/accounts", {"accountName": "x", "kind": "organization", "password": PASSWORD}, 501),
        ("/accounts", {}, 400),
        ("/accounts", [], 422),
        ("/accounts/bob", {"id": "did:odf:x"}, 400),
        ("/accounts/bob", {"passwordHash": "x"}, 400),
        ("/accounts/nobody", {"disabled": True}, 404),
        ("/accounts/a b", {"disabled": True}, 400),
    ],
)
async def test_what_may_not_be_said_of_an_account_is_refused(
    shared_multi: Hosted, path: str, body: Any, status: int
) -> None:
    method = "POST" if path == "/accounts" else "PATCH"
    assert (await send(shared_multi, method, path, body, "root")).status == status
    assert len(await shared_multi.catalog.accounts.list()) == 4


@pytest.mark.parametrize("body", [{"accountName": "x", "password": 7_708_157}, {"accountName": "x", "extra": "770815"}])
async def test_a_refused_body_is_not_repeated(shared_multi: Hosted, body: dict[str, Any]) -> None:
    answer = await send(shared_multi, "POST", "/accounts", body, "root")
    assert answer.status == 400
    assert "770815" not in answer.text


async def test_a_password_is_changed_by_whoever_knows_it_and_browsers_are_logged_out(multi: Hosted) -> None:
    alice = multi.accounts["alice"]
    await multi.catalog.accounts.set_password(alice.name, PASSWORD)
    session_id = await multi.catalog.browser_sessions.begin(alice, lasts_s=60)
    wrong = await send(multi, "PUT", "/accounts/me/password", {"password": "x", "newPassword": "another one"})
    assert wrong.status == 403
    assert await multi.catalog.browser_sessions.account_of(session_id) is not None
    changed = await send(multi, "PUT", "/accounts/me/password", {"password": PASSWORD, "newPassword": "another one"})
    assert changed.status == 204
    assert await multi.catalog.accounts.check_password(alice.name, "another one")
    assert await multi.catalog.browser_sessions.account_of(session_id) is None


def test_no_account_may_be_called_like_the_beginning_of_a_path_of_the_node() -> None:
    beginnings = {route.path.split("/")[1] for route in NODE_ROUTES + IPFS_ROUTES}
    missing = {name for name in beginnings if is_name(name) and not is_reserved(AccountName(name))}
    assert not missing, "an account of that name could not be reached: add it to RESERVED_NAMES"


def is_name(text: str) -> bool:
    try:
        return bool(AccountName(text))
    except MalformedIdentifier:
        return False


async def test_an_administrator_renames_an_account_with_its_datasets(multi: Hosted) -> None:
    await multi.add("weather", a_chain())
    renamed = await send(multi, "PATCH", "/accounts/alice", {"accountName": "alice-m"}, "root")
    assert (renamed.status, orjson.loads(renamed.body)["accountName"]) == (200, "alice-m")
    assert (await multi.ask("GET", "/alice-m/weather/refs/head", who="alice")).status == 200
    assert code_of(await multi.ask("GET", "/alice/weather/reports", who="alice")) == (410, "dataset-gone")
    assert (await send(multi, "POST", "/accounts", {"accountName": "alice"}, "root")).status == 409
    assert (await send(multi, "PATCH", "/accounts/bob", {"accountName": "alice-m"}, "root")).status == 409


async def test_an_account_that_owns_nothing_ends_at_once(multi: Hosted) -> None:
    await multi.add("weather", a_chain())
    assert code_of(await multi.ask("DELETE", "/accounts/alice", who="root")) == (409, "conflict")
    assert (await multi.ask("DELETE", "/accounts/bob", who="root")).status == 204
    assert (await multi.ask("GET", "/accounts/me", who="bob")).status == 401
    assert (await multi.ask("DELETE", "/accounts/bob", who="root")).status == 404


async def test_everybody_ends_their_own_account_by_its_name(multi: Hosted) -> None:
    assert code_of(await multi.ask("DELETE", "/accounts/me?accountName=alice", who="bob")) == (400, "malformed-input")
    assert (await multi.ask("DELETE", "/accounts/bob", who="alice")).status == 403
    assert (await multi.ask("DELETE", "/accounts/me?accountName=bob", who="bob")).status == 204
    assert (await multi.ask("GET", "/accounts/me", who="bob")).status == 401
    newest = (await multi.catalog.audit.list())[0]
    assert newest.details["account"] == "bob"
