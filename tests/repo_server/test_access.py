"""Who gets which answer: every row of the protocol's table of permissions, in the order it gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.roles import Role
from catalog.scopes import Scope
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from repo_server.config import Tenancy
from tests.repo_server.hosted import SMALL, Hosted, a_chain, hash_of, hosted
from tests.storage.chains import ChainBuilder, dataset_id

BAD_TOKEN = "ka_" + "0" * 58


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic YTpi", "Token x", "ka_" + "0" * 58])
async def test_a_header_that_is_no_bearer_token_is_refused_everywhere(
    shared: Hosted, shared_chain: ChainBuilder, header: str
) -> None:
    for path in (shared.path("open") + "/refs/head", "/info", "/accounts/me", "/platform/token/validate"):
        answer = await shared.ask("GET", path, headers={"Authorization": header})
        assert (answer.status, answer.text) == (400, "Invalid Bearer token header"), path


@pytest.mark.parametrize("path", ["/system/health", "/system/ready", "/system/info"])
async def test_those_who_watch_need_no_header_at_all(shared: Hosted, path: str) -> None:
    assert (await shared.ask("GET", path, headers={"Authorization": "nonsense"})).status == 200


@pytest.mark.parametrize(
    ("who", "dataset", "get", "put"),
    [
        (None, "nothing", 404, 404),
        ("alice", "nothing", 404, 404),
        (BAD_TOKEN, "nothing", 401, 401),
        (None, "secret", 404, 404),
        ("bob", "secret", 404, 404),
        ("alice", "secret", 200, 200),
        ("root", "secret", 200, 200),
        (None, "open", 200, 403),
        ("bob", "open", 200, 403),
        ("alice", "open", 200, 200),
        ("root", "open", 200, 200),
        (BAD_TOKEN, "open", 401, 401),
        (BAD_TOKEN, "secret", 401, 401),
    ],
)
async def test_reading_and_writing_follow_the_table(
    shared: Hosted, shared_chain: ChainBuilder, who: str | None, dataset: str, get: int, put: int
) -> None:
    path = shared.path(dataset)
    answer = await shared.ask("GET", path + "/refs/head", who=who)
    assert answer.status == get
    written = await shared.ask("PUT", f"{path}/data/{hash_of(SMALL, shared_chain)}", who=who, data=SMALL)
    assert written.status == put
    for refused in (answer, written):
        if refused.status in {403, 404}:
            assert refused.body == b""
        if refused.status == 401:
            assert refused.text == "Authentication token invalid"


@pytest.mark.parametrize(("role", "get", "put"), [(Role.READER, 200, 403), (Role.WRITER, 200, 200), (None, 404, 404)])
async def test_a_role_opens_a_private_dataset(
    server: Hosted, chain: ChainBuilder, role: Role | None, get: int, put: int
) -> None:
    entry = await server.repository.find(server.alias("secret"))
    await server.catalog.roles.grant(entry.id, server.accounts["bob"], role)
    path = server.path("secret")
    assert (await server.ask("GET", path + "/refs/head", who="bob")).status == get
    assert (await server.ask("PUT", f"{path}/data/{hash_of(SMALL, chain)}", who="bob", data=SMALL)).status == put


async def test_a_reading_token_of_the_owner_does_not_write(shared: Hosted, shared_chain: ChainBuilder) -> None:
    token = await shared.token("alice", Scope.DATASETS_READ)
    path = f"{shared.path('secret')}/data/{hash_of(SMALL, shared_chain)}"
    assert (await shared.ask("GET", path, who=token)).status == 200
    assert (await shared.ask("PUT", path, who=token, data=SMALL)).status == 403


async def test_a_token_bound_to_some_datasets_is_worth_nothing_at_others(server: Hosted, chain: ChainBuilder) -> None:
    account = "alice" if server.settings.multi_tenant else "default"
    bound = await server.bound_token("alice", f"{account}/sec*")
    path = f"data/{hash_of(SMALL, chain)}"
    assert (await server.ask("PUT", f"{server.path('secret')}/{path}", who=bound, data=SMALL)).status == 200
    for method, status in (("GET", 200), ("PUT", 403)):
        answer = await server.ask(method, f"{server.path('open')}/{path}", who=bound, data=SMALL)
        assert answer.status == status, "whoever comes without a token may read it"
    await server.catalog.datasets.set_visibility(chain.id, Visibility.PRIVATE)
    for method in ("GET", "PUT"):
        assert (await server.ask(method, f"{server.path('open')}/{path}", who=bound, data=SMALL)).status == 404
    assert (await server.ask("GET", f"/datasets/{chain.id}", who=bound)).status == 404


async def test_a_token_is_bound_to_a_dataset_under_whichever_name_it_is_asked_for(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI) as server:
        made = await server.repository.create(DatasetAlias.from_text("plain"), dataset_id(1))
        await made.dataset.append(ChainBuilder(dataset_id(1)).blocks, expected_head=None)
        for pattern, status in (("default/plain", 200), ("plain", 200), ("alice/plain", 404)):
            bound = await server.bound_token("root", pattern)
            assert (await server.ask("GET", "/default/plain/refs/head", who=bound)).status == status


async def test_an_administrators_token_administers_only_if_it_says_so(shared: Hosted) -> None:
    token = await shared.token("root", Scope.DATASETS_MANAGE, Scope.ACCOUNTS_MANAGE)
    assert (await shared.ask("GET", "/system/mirrors", who=token)).status == 403
    assert (await shared.ask("GET", "/system/mirrors", who=await shared.token("root", Scope.ADMIN))).status == 200


async def test_a_revoked_token_stops_counting_at_once(shared: Hosted, shared_chain: ChainBuilder) -> None:
    token = await shared.token("alice")
    path = shared.path("secret") + "/refs/head"
    assert (await shared.ask("GET", path, who=token)).status == 200
    newest = (await shared.catalog.tokens.list(shared.accounts["alice"]))[-1]
    await shared.catalog.tokens.revoke(newest.id)
    assert (await shared.ask("GET", path, who=token)).status == 401


async def test_an_expired_token_says_so(shared: Hosted, shared_chain: ChainBuilder) -> None:
    token = await shared.catalog.tokens.create(shared.accounts["alice"], expires_at=1.0)
    answer = await shared.ask("GET", shared.path("open") + "/refs/head", who=token)
    assert (answer.status, answer.text) == (401, "Authentication token expired")


async def test_answers_about_private_datasets_may_not_be_shared_by_caches(
    shared: Hosted, shared_chain: ChainBuilder
) -> None:
    for dataset, expected in (("secret", "private"), ("open", "public")):
        path = f"{shared.path(dataset)}/data/{hash_of(SMALL, shared_chain)}"
        answer = await shared.ask("GET", path, who="alice")
        assert answer.headers["Cache-Control"].startswith(expected)


async def test_a_dataset_that_is_being_pushed_exists_for_its_creator_alone(server: Hosted) -> None:
    chain = a_chain()
    await server.add_pending("coming", chain, Visibility.PUBLIC)
    path, name = server.path("coming"), hash_of(SMALL, chain)
    assert (await server.ask("PUT", f"{path}/data/{name}", who=BAD_TOKEN, data=SMALL)).status == 401
    for who in (None, "bob"):
        assert (await server.ask("PUT", f"{path}/data/{name}", who=who, data=SMALL)).status == 404
    assert (await server.ask("PUT", f"{path}/data/{name}", who="alice", data=SMALL)).status == 200
    assert (await server.ask("GET", f"{path}/data/{name}", who="alice")).body == SMALL
    for who in (None, "bob"):
        assert (await server.ask("GET", f"{path}/data/{name}", who=who)).status == 404
    for who in (None, "bob", "alice"):
        assert (await server.ask("GET", f"{path}/refs/head", who=who)).status == 404
        assert (await server.ask("GET", f"/datasets/{chain.id}", who=who)).status == 404


async def test_without_anonymous_access_only_valid_tokens_get_in(tmp_path: Path, tenancy: Tenancy) -> None:
    async with hosted(tmp_path, tenancy, anonymous_access=False) as server:
        await server.add("open", a_chain())
        for path in (server.path("open") + "/refs/head", "/info", "/accounts/me", server.path("open") + "/pull"):
            for who in (None, BAD_TOKEN):
                answer = await server.ask("GET", path, who=who)
                assert (answer.status, answer.text) == (401, "Anonymous account is restricted"), path
        assert (await server.ask("GET", server.path("open") + "/refs/head", who="bob")).status == 200
        assert (await server.ask("GET", "/system/health")).status == 200
        assert (await server.ask("GET", "/platform/token/validate")).text.count("No authentication token provided")
