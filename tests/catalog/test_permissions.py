"""The table of who may do what: ownership, roles, visibility, and the scopes of the token."""

from __future__ import annotations

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.datasets import DatasetRecord, Role
from catalog.permissions import Access, Rights, access_to
from catalog.tokens import Authenticated, Scope
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import AccountId, new_dataset_id
from opendatafabric.names import AccountName


def account(number: int, *, is_admin: bool = False) -> Account:
    account_id = AccountId.from_text(str(new_dataset_id(bytes([number] * 32))))
    return Account(account_id, AccountName(f"account{number}"), is_admin)


OWNER, OTHER, ADMIN = account(1), account(2), account(3, is_admin=True)
EVERYTHING = frozenset({Scope.READ, Scope.WRITE})


def record(visibility: Visibility) -> DatasetRecord:
    return DatasetRecord(new_dataset_id(bytes(32)), DatasetAlias.from_text("account1/d"), OWNER.id, visibility)


@pytest.mark.parametrize(
    ("who", "role", "private", "public"),
    [
        (None, None, Access.NONE, Access.READ),
        (OTHER, None, Access.NONE, Access.READ),
        (OTHER, Role.READER, Access.READ, Access.READ),
        (OTHER, Role.EDITOR, Access.WRITE, Access.WRITE),
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


def test_a_reading_token_of_the_owner_does_not_write() -> None:
    caller = Authenticated(OWNER, frozenset({Scope.READ}))
    assert access_to(record(Visibility.PRIVATE), caller, None) == Access.READ


def test_a_token_never_gives_more_than_its_account_has() -> None:
    caller = Authenticated(OTHER, frozenset(Scope))
    assert access_to(record(Visibility.PRIVATE), caller, None) is Access.NONE


async def test_what_an_account_may_read_is_looked_up_each_time(catalog: Catalog, alice: Account, bob: Account) -> None:
    known = DatasetRecord(new_dataset_id(bytes(32)), DatasetAlias.from_text("d"), alice.id, Visibility.PRIVATE)
    await catalog.datasets.put(known)
    rights = Rights(catalog.accounts, catalog.datasets, AccountName("bob"), Visibility.PRIVATE)
    assert [await rights.may_read(who, known.id) for who in (alice.id, bob.id, None, OTHER.id)] == [True] + [False] * 3
    await catalog.datasets.grant(known.id, bob, Role.READER)
    assert await rights.may_read(bob.id, known.id)
    await catalog.datasets.grant(known.id, bob, None)
    assert not await rights.may_read(bob.id, known.id)
    await catalog.datasets.set_visibility(known.id, Visibility.PUBLIC)
    assert await rights.may_read(None, known.id)


@pytest.mark.parametrize("visibility", Visibility)
async def test_what_the_catalog_does_not_know_is_the_default_owners(
    catalog: Catalog, alice: Account, bob: Account, visibility: Visibility
) -> None:
    rights = Rights(catalog.accounts, catalog.datasets, alice.name, visibility)
    unknown = new_dataset_id(bytes(32))
    assert await rights.may_read(alice.id, unknown)
    assert await rights.may_read(bob.id, unknown) is (visibility is Visibility.PUBLIC)
