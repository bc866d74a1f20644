"""Members of organisations: who sees them, and who may change whom."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog.accounts import Account, AccountKind
from catalog.datasets import DatasetRecord
from catalog.roles import Role
from catalog.scopes import Scope
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.names import AccountName
from repo_server.config import Tenancy
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.storage.chains import dataset_id

pytestmark = pytest.mark.slow

MEMBERS = "/accounts/office/members"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    """With an organisation in which each member is called like its role."""
    async with hosted(tmp_path, Tenancy.MULTI, run_worker=False) as running:
        office = await running.catalog.accounts.create(AccountName("office"), kind=AccountKind.ORGANIZATION)
        running.accounts["office"] = office
        for role in Role:
            member = await running.catalog.accounts.create(AccountName(role.value))
            running.accounts[role.value] = member
            running.tokens[role.value] = await running.catalog.tokens.create(member, tuple(Scope))
            await running.catalog.roles.grant(office.id, member, role)
        yield running


async def put(server: Hosted, who: str | None, member: str, body: Any) -> int:
    headers = {"Content-Type": "application/json"}
    return (await server.ask("PUT", f"{MEMBERS}/{member}", who=who, data=orjson.dumps(body), headers=headers)).status


async def role_of(server: Hosted, name: str) -> Role | None:
    account: Account = server.accounts[name]
    return await server.catalog.roles.held(server.accounts["office"].id, account)


@pytest.mark.parametrize("who", [*(role.value for role in Role), "root"])
async def test_members_and_administrators_see_the_members(server: Hosted, who: str) -> None:
    answer = await server.ask("GET", MEMBERS, who=who)
    told = {each["accountName"]: each["role"] for each in orjson.loads(answer.body)}
    assert told == {role.value: role.value for role in Role}


async def page(server: Hosted, who: str | None) -> str:
    answer = await server.ask("GET", "/office", who=who, headers={"Accept": "text/html"})
    return answer.text if answer.status == 200 else ""


async def test_the_page_of_an_organisation_names_its_members_to_members_and_its_owners_to_others(
    server: Hosted,
) -> None:
    for who in ("reader", "root"):  # who belongs to it sees it, though nothing is in it yet
        told = await page(server, who)
        assert all(f"<li>{role.value}<p>{role.value}" in told for role in Role)
    assert await page(server, None) == await page(server, "alice") == ""
    entry = await server.repository.create(DatasetAlias.from_text("office/weather"), dataset_id())
    record = DatasetRecord(entry.id, entry.alias, server.accounts["office"].id, Visibility.PUBLIC)
    await server.catalog.datasets.put(record)
    await entry.dataset.append(a_chain().blocks[:1], expected_head=None)
    await server.ask("GET", "/office/weather")
    for who in (None, "alice"):
        assert "<li>owner<p>owner" in await page(server, who)
        assert "<li>reader" not in await page(server, who)
    assert "<li>reader<p>reader" in await page(server, "reader")


@pytest.mark.parametrize("path", [MEMBERS, "/accounts/nothing/members", "/accounts/bob/members"])
async def test_to_others_an_organisation_is_not_there(server: Hosted, path: str) -> None:
    answer = await server.ask("GET", path, who="alice")
    assert answer.status == 404
    assert "for you" in answer.text
    assert (await server.ask("GET", path)).status == 401


async def test_a_token_that_is_not_good_for_accounts_has_nothing_to_do_with_members(server: Hosted) -> None:
    token = await server.catalog.tokens.create(server.accounts["owner"], [Scope.DATASETS_MANAGE])
    assert (await server.ask("GET", MEMBERS, who=token)).status == 403
    assert await put(server, token, "alice", {"role": "owner"}) == 403


async def test_an_administrator_without_the_scope_is_a_stranger(server: Hosted) -> None:
    token = await server.token("root", Scope.ACCOUNTS_MANAGE)
    assert (await server.ask("GET", MEMBERS, who=token)).status == 404


@pytest.mark.parametrize(
    ("who", "member", "role", "status"),
    [
        ("owner", "alice", "owner", 200),
        ("owner", "maintainer", "reader", 200),
        ("root", "alice", "owner", 200),
        ("maintainer", "alice", "writer", 200),
        ("maintainer", "reader", "writer", 200),
        ("maintainer", "alice", "maintainer", 403),
        ("maintainer", "owner", "reader", 403),
        ("maintainer", "maintainer", "owner", 403),
        ("writer", "alice", "reader", 403),
        ("writer", "writer", "owner", 403),
        ("reader", "alice", "reader", 403),
    ],
)
async def test_owners_give_every_role_and_maintainers_lower_ones(
    server: Hosted, who: str, member: str, role: str, status: int
) -> None:
    before = await role_of(server, member)
    assert await put(server, who, member, {"role": role}) == status
    assert await role_of(server, member) is (Role(role) if status == 200 else before)


@pytest.mark.parametrize(
    ("who", "member", "status"),
    [
        ("owner", "maintainer", 204),
        ("maintainer", "writer", 204),
        ("maintainer", "owner", 403),
        ("maintainer", "maintainer", 204),
        ("reader", "reader", 204),
        ("reader", "writer", 403),
        ("owner", "alice", 404),
        ("owner", "nobody", 404),
        ("owner", "owner", 409),
        ("root", "owner", 409),
    ],
)
async def test_members_are_sent_away_from_above_or_leave_but_for_the_last_owner(
    server: Hosted, who: str, member: str, status: int
) -> None:
    assert (await server.ask("DELETE", f"{MEMBERS}/{member}", who=who)).status == status
    if member in server.accounts:
        assert (await role_of(server, member) is None) is (status == 204 or member == "alice")


async def test_the_last_owner_does_not_become_less(server: Hosted) -> None:
    assert await put(server, "owner", "owner", {"role": "reader"}) == 409
    assert await put(server, "owner", "alice", {"role": "owner"}) == 200
    assert await put(server, "owner", "owner", {"role": "reader"}) == 200


@pytest.mark.parametrize("body", [{}, {"role": "king"}, {"role": 1}, {"role": "owner", "account": "x"}])
async def test_what_no_member_can_be_is_refused(server: Hosted, body: Any) -> None:
    assert await put(server, "owner", "alice", body) == 400
    assert await role_of(server, "alice") is None


async def test_organisations_are_members_of_none(server: Hosted) -> None:
    other = await server.catalog.accounts.create(AccountName("other"), kind=AccountKind.ORGANIZATION)
    assert await put(server, "owner", other.name, {"role": "reader"}) == 400
