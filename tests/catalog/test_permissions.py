"""The table of who may do what: ownership, roles, visibility, and the scopes of the token."""

from __future__ import annotations

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.datasets import DatasetRecord
from catalog.permissions import Access, Rights, access_to
from catalog.roles import Role
from catalog.scopes import Scope, parse_patterns, with_included
from catalog.tokens import Authenticated
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import AccountId, new_dataset_id
from opendatafabric.names import AccountName


def account(number: int, *, is_admin: bool = False) -> Account:
    account_id = AccountId.from_text(str(new_dataset_id(bytes([number] * 32))))
    return Account(account_id, AccountName(f"account{number}"), is_admin)


OWNER, OTHER, ADMIN = account(1), account(2), account(3, is_admin=True)
EVERYTHING = frozenset(Scope)


def record(visibility: Visibility) -> DatasetRecord:
    return DatasetRecord(new_dataset_id(bytes(32)), DatasetAlias.from_text("account1/d"), OWNER.id, visibility)


@pytest.mark.parametrize(
    ("who", "role", "private", "public"),
    [
        (None, None, Access.NONE, Access.READ),
        (OTHER, None, Access.NONE, Access.READ),
        (OTHER, Role.READER, Access.READ, Access.READ),
        (OTHER, Role.WRITER, Access.WRITE, Access.WRITE),
        (OTHER, Role.MAINTAINER, Access.MAINTAIN, Access.MAINTAIN),
        (OTHER, Role.OWNER, Access.OWN, Access.OWN),
        (OWNER, None, Access.OWN, Access.OWN),
        (OWNER, Role.READER, Access.OWN, Access.OWN),
        (ADMIN, None, Access.OWN, Access.OWN),
    ],
)
def test_access_follows_the_table(who: Account | None, role: Role | None, private: Access, public: Access) -> None:
    caller = None if who is None else Authenticated(who, EVERYTHING)
    assert access_to(record(Visibility.PRIVATE), caller, role) is private
    assert access_to(record(Visibility.PUBLIC), caller, role) is public


@pytest.mark.parametrize(
    ("scope", "access"),
    [
        (Scope.DATASETS_READ, Access.READ),
        (Scope.DATASETS_PUSH, Access.WRITE),
        (Scope.DATASETS_MANAGE, max(Access)),
        (Scope.ADMIN, max(Access)),
        (Scope.ACCOUNTS_MANAGE, Access.NONE),
    ],
)
def test_the_scope_of_a_token_narrows_what_its_owner_may_do(scope: Scope, access: Access) -> None:
    caller = Authenticated(OWNER, with_included([scope]))
    assert access_to(record(Visibility.PRIVATE), caller, None) is access


@pytest.mark.parametrize("visibility", Visibility)
def test_a_token_that_is_bound_to_other_datasets_sees_none_else(visibility: Visibility) -> None:
    for pattern, access in (("account1/*", max(Access)), ("account1/other", Access.NONE), ("account2/d", Access.NONE)):
        caller = Authenticated(OWNER, EVERYTHING, parse_patterns([pattern]))
        assert access_to(record(visibility), caller, None) is access


def test_a_token_never_gives_more_than_its_account_has() -> None:
    caller = Authenticated(OTHER, frozenset(Scope))
    assert access_to(record(Visibility.PRIVATE), caller, None) is Access.NONE


def test_what_is_unlisted_is_read_by_whoever_gives_its_name() -> None:
    caller = Authenticated(OTHER, EVERYTHING)
    for who in (None, caller):
        assert access_to(record(Visibility.UNLISTED), who, None, named=True) is Access.READ
        assert access_to(record(Visibility.UNLISTED), who, None) is Access.NONE
        assert access_to(record(Visibility.PRIVATE), who, None, named=True) is Access.NONE
    assert access_to(record(Visibility.UNLISTED), caller, Role.READER) is Access.READ


async def test_a_role_in_the_account_of_the_owner_counts_while_nobody_calls(
    catalog: Catalog, alice: Account, bob: Account
) -> None:
    known = DatasetRecord(new_dataset_id(bytes(32)), DatasetAlias.from_text("d"), alice.id, Visibility.UNLISTED)
    await catalog.datasets.put(known)
    rights = Rights(catalog.accounts, catalog.datasets, catalog.roles, AccountName("root"), Visibility.PRIVATE)
    assert not await rights.may_read(bob.id, known.id), "an id is not the name"
    await catalog.roles.grant(alice.id, bob, Role.READER)
    assert await rights.may_read(bob.id, known.id)


async def test_what_an_account_may_read_is_looked_up_each_time(catalog: Catalog, alice: Account, bob: Account) -> None:
    known = DatasetRecord(new_dataset_id(bytes(32)), DatasetAlias.from_text("d"), alice.id, Visibility.PRIVATE)
    await catalog.datasets.put(known)
    rights = Rights(catalog.accounts, catalog.datasets, catalog.roles, AccountName("bob"), Visibility.PRIVATE)
    assert [await rights.may_read(who, known.id) for who in (alice.id, bob.id, None, OTHER.id)] == [True] + [False] * 3
    await catalog.roles.grant(known.id, bob, Role.READER)
    assert await rights.may_read(bob.id, known.id)
    await catalog.roles.grant(known.id, bob, None)
    assert not await rights.may_read(bob.id, known.id)
    await catalog.accounts.disable(alice.name)
    assert not await rights.may_read(alice.id, known.id)
    await catalog.datasets.set_visibility(known.id, Visibility.PUBLIC)
    assert await rights.may_read(None, known.id)


@pytest.mark.parametrize("visibility", Visibility)
async def test_what_the_catalog_does_not_know_is_the_default_owners(
    catalog: Catalog, alice: Account, bob: Account, visibility: Visibility
) -> None:
    rights = Rights(catalog.accounts, catalog.datasets, catalog.roles, alice.name, visibility)
    unknown = new_dataset_id(bytes(32))
    assert await rights.may_read(alice.id, unknown)
    assert await rights.may_read(bob.id, unknown) is (visibility is Visibility.PUBLIC)
