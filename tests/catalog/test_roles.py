"""Roles in datasets and accounts, held by accounts and teams: the highest counts."""

from __future__ import annotations

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.datasets import DatasetRecord
from catalog.roles import Grant, Role
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.names import AccountName

DEVELOPERS = AccountName("developers")


@pytest.fixture
async def dataset_id(catalog: Catalog, alice: Account) -> DatasetId:
    """A dataset of alice's."""
    return await a_dataset(catalog, alice, 0)


async def a_dataset(catalog: Catalog, owner: Account, number: int) -> DatasetId:
    found = new_dataset_id(bytes([number] * 32))
    alias = DatasetAlias.from_text(f"{owner.name}/d{number}")
    await catalog.datasets.put(DatasetRecord(found, alias, owner.id, Visibility.PRIVATE))
    return found


async def test_a_role_is_given_replaced_and_taken(
    catalog: Catalog, alice: Account, bob: Account, dataset_id: DatasetId
) -> None:
    for role in (*Role, None):
        await catalog.roles.grant(dataset_id, bob, role)
        assert await catalog.roles.of(bob.id, dataset_id, alice.id) is role
        assert await catalog.roles.held(dataset_id, bob) is role


async def test_a_role_in_a_dataset_is_none_in_others_nor_in_the_account(
    catalog: Catalog, alice: Account, bob: Account, dataset_id: DatasetId
) -> None:
    other = await a_dataset(catalog, alice, 1)
    await catalog.roles.grant(dataset_id, bob, Role.WRITER)
    assert await catalog.roles.of(bob.id, other, alice.id) is None
    assert await catalog.roles.in_account(bob.id, alice.id) is None


async def test_a_role_in_an_account_holds_for_all_its_datasets_and_no_others(
    catalog: Catalog, alice: Account, bob: Account, dataset_id: DatasetId
) -> None:
    await catalog.roles.grant(alice.id, bob, Role.MAINTAINER)
    later, own = await a_dataset(catalog, alice, 1), await a_dataset(catalog, bob, 2)
    for each in (dataset_id, later):
        assert await catalog.roles.of(bob.id, each, alice.id) is Role.MAINTAINER
    assert await catalog.roles.in_account(bob.id, alice.id) is Role.MAINTAINER
    assert await catalog.roles.of(alice.id, own, bob.id) is None, "roles are not mutual"


@pytest.mark.parametrize("in_dataset", [Role.READER, Role.OWNER])
async def test_of_several_roles_the_highest_counts(
    catalog: Catalog, alice: Account, bob: Account, dataset_id: DatasetId, in_dataset: Role
) -> None:
    team = await catalog.teams.set(alice, DEVELOPERS, [bob])
    await catalog.roles.grant(dataset_id, bob, in_dataset)
    await catalog.roles.grant(dataset_id, team, Role.READER)
    await catalog.roles.grant(alice.id, team, Role.WRITER)
    expected = max(in_dataset, Role.WRITER, key=lambda role: role.level)
    assert await catalog.roles.of(bob.id, dataset_id, alice.id) is expected


async def test_a_role_of_a_team_is_that_of_its_members_as_long_as_they_are_in_it(
    catalog: Catalog, alice: Account, bob: Account, dataset_id: DatasetId
) -> None:
    team = await catalog.teams.set(alice, DEVELOPERS, [bob])
    await catalog.roles.grant(dataset_id, team, Role.WRITER)
    assert await catalog.roles.of(bob.id, dataset_id, alice.id) is Role.WRITER
    assert await catalog.teams.set(alice, DEVELOPERS, []) == team
    assert await catalog.roles.of(bob.id, dataset_id, alice.id) is None
    assert await catalog.roles.held(dataset_id, team) is Role.WRITER


async def test_a_team_that_is_removed_takes_its_roles_along(
    catalog: Catalog, alice: Account, bob: Account, dataset_id: DatasetId
) -> None:
    team = await catalog.teams.set(alice, DEVELOPERS, [bob])
    await catalog.roles.grant(dataset_id, team, Role.WRITER)
    await catalog.teams.remove(team)
    assert await catalog.roles.of(bob.id, dataset_id, alice.id) is None
    assert await catalog.roles.list(dataset_id) == []


async def test_forgetting_a_dataset_takes_its_roles_along(
    catalog: Catalog, alice: Account, bob: Account, dataset_id: DatasetId
) -> None:
    await catalog.roles.grant(dataset_id, bob, Role.WRITER)
    await catalog.datasets.forget(dataset_id)
    assert await a_dataset(catalog, alice, 0) == dataset_id
    assert await catalog.roles.of(bob.id, dataset_id, alice.id) is None


async def test_roles_are_listed_by_holder_accounts_first(
    catalog: Catalog, alice: Account, bob: Account, dataset_id: DatasetId
) -> None:
    team = await catalog.teams.set(alice, AccountName("admins"), [])
    carol = await catalog.accounts.create(AccountName("Carol"))
    for holder, role in ((team, Role.OWNER), (carol, Role.READER), (bob, Role.WRITER)):
        await catalog.roles.grant(dataset_id, holder, role)
    assert await catalog.roles.list(dataset_id) == [
        Grant(AccountName("bob"), False, Role.WRITER),
        Grant(AccountName("Carol"), False, Role.READER),
        Grant(AccountName("admins"), True, Role.OWNER),
    ]
    assert await catalog.roles.list(alice.id) == []


def test_another_word_is_no_role() -> None:
    assert [Role.from_text(role.value) for role in Role] == list(Role)
    for text in ("", "Reader", "editor", "admin", "x" * 10_000):
        with pytest.raises(MalformedIdentifier) as caught:
            Role.from_text(text)
        assert len(str(caught.value)) < 300
