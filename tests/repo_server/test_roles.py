"""Roles in a dataset and its visibility over HTTP: who may give what, and that it counts at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

import orjson
import pytest
import pytest_asyncio

from catalog.events import EventType
from catalog.roles import Role
from catalog.scopes import Scope
from catalog.visibility import Visibility
from opendatafabric.names import AccountName
from repo_server.config import Tenancy
from tests.repo_server.hosted import Answer, Hosted, a_chain, code_of, hosted
from tests.storage.chains import dataset_id

_JSON: Final = {"Content-Type": "application/json"}
SECRET: Final = dataset_id(2)
HELPERS: Final = AccountName("helpers")


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=list(Tenancy), ids=lambda each: each.value)
async def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hosted]:
    """With a dataset of alice's, whom bob helps in the team ``helpers``, and carol."""
    async with hosted(tmp_path_factory.mktemp("roles"), request.param, run_worker=False) as running:
        running.accounts["carol"] = await running.catalog.accounts.create(AccountName("carol"))
        running.tokens["carol"] = await running.token("carol", *Scope)
        await running.catalog.teams.set(running.accounts["alice"], HELPERS, [running.accounts["bob"]])
        await running.add("secret", a_chain(2), Visibility.PRIVATE)
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def server(shared: Hosted) -> Hosted:
    """The same, private again, with nobody in a role."""
    catalog, accounts = shared.catalog, shared.accounts
    team = await catalog.teams.find(accounts["alice"], HELPERS)
    for holder in (accounts["bob"], accounts["carol"], team):
        await catalog.roles.grant(SECRET, holder, None)
    await catalog.roles.grant(accounts["alice"].id, accounts["bob"], None)
    await catalog.datasets.set_visibility(SECRET, Visibility.PRIVATE)
    return shared


async def put(server: Hosted, rest: str, body: object, who: str = "alice") -> Answer:
    path = f"{server.path('secret')}/{rest}"
    return await server.ask("PUT", path, who=who, data=orjson.dumps(body), headers=_JSON)


async def take(server: Hosted, holder: str, who: str = "alice") -> Answer:
    return await server.ask("DELETE", f"{server.path('secret')}/roles/{holder}", who=who)


async def roles(server: Hosted, who: str = "alice") -> dict[str, Any]:
    answer = await server.ask("GET", server.path("secret") + "/roles", who=who)
    assert answer.status == 200
    return {each["holder"]: each["role"] for each in orjson.loads(answer.body)["roles"]}


async def status(server: Hosted, who: str | None) -> int:
    return (await server.ask("GET", server.path("secret") + "/refs/head", who=who)).status


async def test_a_role_counts_from_its_answer_on_and_ends_with_the_next(server: Hosted) -> None:
    assert await status(server, "bob") == 404
    for role in ("reader", "maintainer"):
        answer = await put(server, "roles/Bob", {"role": role})
        assert (answer.status, orjson.loads(answer.body)) == (200, {"holder": "bob", "role": role})
        assert (await status(server, "bob"), await roles(server)) == (200, {"bob": role})
    assert (await take(server, "bob")).status == 204
    assert (await status(server, "bob"), await roles(server)) == (404, {})


async def test_a_team_of_the_account_is_given_a_role(server: Hosted) -> None:
    assert (await put(server, "roles/team:helpers", {"role": "maintainer"})).status == 200
    assert await roles(server, "bob") == {"team:helpers": "maintainer"}
    assert (await take(server, "team:Helpers")).status == 204
    assert (await status(server, "bob"), await roles(server)) == (404, {})


@pytest.mark.parametrize("holder", ["nobody", "team:nobody", "team:bob"])
async def test_who_is_not_there_is_given_nothing(server: Hosted, holder: str) -> None:
    assert code_of(await put(server, f"roles/{holder}", {"role": "reader"})) == (404, "not-found")
    assert code_of(await take(server, holder)) == (404, "not-found")
    assert await roles(server) == {}


async def test_a_role_that_was_not_given_cannot_be_taken(server: Hosted) -> None:
    await server.catalog.roles.grant(server.accounts["alice"].id, server.accounts["bob"], Role.READER)
    answer = await take(server, "bob")
    assert code_of(answer) == (404, "not-found")
    assert "in the dataset itself" in answer.text
    assert await status(server, "bob") == 200


@pytest.mark.parametrize(
    ("before", "wanted", "expected"),
    [
        (None, "reader", 200),
        (Role.READER, "writer", 200),
        (None, "maintainer", 403),
        (None, "owner", 403),
        (Role.OWNER, "reader", 403),
        (Role.WRITER, None, 204),
        (Role.MAINTAINER, None, 403),
    ],
)
async def test_maintainers_give_and_take_roles_up_to_writer(
    server: Hosted, before: Role | None, wanted: str | None, expected: int
) -> None:
    carol = server.accounts["carol"]
    await server.catalog.roles.grant(SECRET, server.accounts["bob"], Role.MAINTAINER)
    await server.catalog.roles.grant(SECRET, carol, before)
    if wanted is None:
        answer = await take(server, "carol", "bob")
    else:
        answer = await put(server, "roles/carol", {"role": wanted}, "bob")
    after = None if wanted is None else Role(wanted)
    assert answer.status == expected
    assert await server.catalog.roles.held(SECRET, carol) is (before if expected == 403 else after)
    if expected == 403:
        assert code_of(answer)[1] == "access-denied"


async def test_maintainers_do_not_promote_themselves_and_owners_give_every_role(server: Hosted) -> None:
    await put(server, "roles/bob", {"role": "maintainer"})
    assert (await put(server, "roles/bob", {"role": "owner"}, "bob")).status == 403
    await put(server, "roles/bob", {"role": "owner"})
    assert (await put(server, "roles/carol", {"role": "owner"}, "bob")).status == 200
    assert (await put(server, "visibility", {"visibility": "public"}, "carol")).status == 200


async def test_a_token_gives_no_more_than_it_is_for(server: Hosted) -> None:
    server.tokens["pushing"] = await server.token("alice", Scope.DATASETS_PUSH)
    assert (await put(server, "roles/bob", {"role": "reader"}, "pushing")).status == 403
    assert (await put(server, "visibility", {"visibility": "public"}, "pushing")).status == 403
    assert (await status(server, "bob"), await status(server, None)) == (404, 404)


async def test_a_body_that_says_something_else_changes_nothing(server: Hosted) -> None:
    for role in ({}, {"role": "boss"}, {"role": 1}, {"role": "reader", "admin": True}):
        assert (await put(server, "roles/bob", role)).status == 400
    assert (await put(server, "roles/bob", ["reader"])).status == 422
    for visibility in ({}, {"visibility": "secret"}, {"visibility": "public", "now": True}):
        assert (await put(server, "visibility", visibility)).status == 400
    assert (await roles(server), await status(server, None)) == ({}, 404)


async def test_visibility_counts_at_once_and_is_told(server: Hosted) -> None:
    before = await server.catalog.events.newest()
    for wanted, by_name, by_id in (("unlisted", 200, 404), ("public", 200, 200), ("private", 404, 404)):
        answer = await put(server, "visibility", {"visibility": wanted})
        assert (answer.status, orjson.loads(answer.body)) == (200, {"visibility": wanted})
        assert await status(server, None) == by_name
        assert (await server.ask("GET", f"/datasets/{SECRET}")).status == by_id
        seen = await server.ask("GET", server.path("secret") + "/visibility", who="alice")
        assert orjson.loads(seen.body) == {"visibility": wanted}
    told = await server.catalog.events.after(before)
    assert {each.type for each in told} == {EventType.VISIBILITY_CHANGED}
    assert [each.details["visibility"] for each in told] == ["unlisted", "public", "private"]


async def test_maintainers_do_not_decide_who_else_may_read(server: Hosted) -> None:
    await server.catalog.roles.grant(SECRET, server.accounts["bob"], Role.MAINTAINER)
    assert (await put(server, "visibility", {"visibility": "public"}, "bob")).status == 403
    assert await status(server, None) == 404


async def test_a_dataset_that_no_catalog_knows_yet_is_made_known(server: Hosted) -> None:
    root = a_chain(3)
    await server.catalog.datasets.forget((await server.add("late", root)).id)
    place = server.path("late")
    body = orjson.dumps({"role": "reader"})
    answer = await server.ask("PUT", f"{place}/roles/bob", who="root", data=body, headers=_JSON)
    assert answer.status == 200
    assert await server.catalog.roles.held(root.id, server.accounts["bob"]) is Role.READER
