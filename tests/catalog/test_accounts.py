"""Accounts: names without regard to case, ids that stay, passwords that cannot be read back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import select, update

from catalog.accounts import Account, AccountKind
from catalog.catalog import Catalog, open_catalog
from catalog.engine import open_database
from catalog.tables import accounts
from opendatafabric.errors import (
    AuthenticationRequired,
    Conflict,
    MalformedIdentifier,
    MalformedInput,
    NameCollision,
    NotFound,
    UnsupportedOperation,
)
from opendatafabric.names import AccountName
from tests.catalog.conftest import bytes_under
from tests.catalog.test_passwords import scrypt_hash

PASSWORD = "correct horse battery"


async def test_an_account_is_found_by_name_in_any_case(catalog: Catalog) -> None:
    made = await catalog.accounts.create(AccountName("Alice"))
    assert await catalog.accounts.find(AccountName("aLICE")) == made
    assert made.name[:] == "Alice"


async def test_an_account_is_found_by_id(catalog: Catalog, alice: Account) -> None:
    assert await catalog.accounts.find_by_id(alice.id) == alice
    assert str(alice.id).startswith("did:odf:fed01")


async def test_the_same_name_in_another_case_is_taken(catalog: Catalog, alice: Account) -> None:
    with pytest.raises(NameCollision):
        await catalog.accounts.create(AccountName("ALICE"))
    assert await catalog.accounts.list() == [alice]


async def test_an_unknown_account_is_told(catalog: Catalog) -> None:
    with pytest.raises(NotFound, match="account nobody"):
        await catalog.accounts.find(AccountName("nobody"))


async def test_an_account_is_made_once_however_often_it_is_asked_for(catalog: Catalog) -> None:
    first = await catalog.accounts.find_or_create(AccountName("carol"))
    assert await catalog.accounts.find_or_create(AccountName("Carol")) == first


async def test_of_many_who_make_one_account_exactly_one_does(catalog: Catalog) -> None:
    made = await asyncio.gather(
        *(catalog.accounts.create(AccountName("dave")) for _ in range(8)), return_exceptions=True
    )
    assert sum(isinstance(each, Account) for each in made) == 1
    assert sum(isinstance(each, NameCollision) for each in made) == 7


async def test_an_account_is_still_there_after_opening_again(url: str, catalog: Catalog, alice: Account) -> None:
    async with open_catalog(url) as again:
        assert await again.accounts.find(AccountName("alice")) == alice


async def test_the_right_password_opens_the_account(catalog: Catalog) -> None:
    made = await catalog.accounts.create(AccountName("erin"), password=PASSWORD)
    assert await catalog.accounts.check_password(AccountName("ERIN"), PASSWORD) == made


@pytest.mark.parametrize(("name", "password"), [("erin", PASSWORD + "x"), ("erin", ""), ("nobody", PASSWORD)])
async def test_a_wrong_password_and_an_unknown_account_look_alike(catalog: Catalog, name: str, password: str) -> None:
    await catalog.accounts.create(AccountName("erin"), password=PASSWORD)
    with pytest.raises(AuthenticationRequired) as caught:
        await catalog.accounts.check_password(AccountName(name), password)
    assert caught.value.as_dict() == AuthenticationRequired("Invalid credentials").as_dict()


@pytest.mark.parametrize("password", ["", "x", PASSWORD])
async def test_an_account_without_a_password_opens_with_none(catalog: Catalog, alice: Account, password: str) -> None:
    with pytest.raises(AuthenticationRequired):
        await catalog.accounts.check_password(alice.name, password)


async def test_a_changed_password_replaces_the_old_one(catalog: Catalog) -> None:
    await catalog.accounts.create(AccountName("erin"), password=PASSWORD)
    await catalog.accounts.set_password(AccountName("erin"), "another password")
    with pytest.raises(AuthenticationRequired):
        await catalog.accounts.check_password(AccountName("erin"), PASSWORD)
    assert (await catalog.accounts.check_password(AccountName("erin"), "another password")).name == "erin"


@pytest.mark.parametrize("password", ["", "seven77", "pässword-long"])
async def test_a_short_or_foreign_password_is_refused(catalog: Catalog, password: str) -> None:
    with pytest.raises(MalformedInput, match="password"):
        await catalog.accounts.create(AccountName("erin"), password=password)
    assert await catalog.accounts.list() == []


async def test_no_password_lies_in_the_database(catalog: Catalog, tmp_path: Path) -> None:
    await catalog.accounts.create(AccountName("erin"), password=PASSWORD)
    assert PASSWORD.encode() not in bytes_under(tmp_path)


async def kept_password(catalog: Catalog, url: str) -> str:
    database = open_database(url)
    async with database.reading() as connection:
        found = (await connection.execute(select(accounts.c.password_hash))).scalar_one()
    await database.close()
    return str(found)


async def test_a_password_of_former_times_is_hashed_anew_at_its_first_login(catalog: Catalog, url: str) -> None:
    erin = await catalog.accounts.create(AccountName("erin"))
    database = open_database(url)
    async with database.writing() as connection:
        await connection.execute(update(accounts).values(password_hash=scrypt_hash(PASSWORD)))
    await database.close()
    with pytest.raises(AuthenticationRequired):
        await catalog.accounts.check_password(erin.name, PASSWORD + "x")
    assert (await kept_password(catalog, url)).startswith("scrypt$")
    assert (await catalog.accounts.check_password(erin.name, PASSWORD)).id == erin.id
    assert (await kept_password(catalog, url)).startswith("$argon2id$")
    assert (await catalog.accounts.check_password(erin.name, PASSWORD)).id == erin.id


@pytest.mark.parametrize("name", ["accounts", "Platform", "SYSTEM"])
async def test_no_account_takes_a_name_that_paths_of_the_node_begin_with(catalog: Catalog, name: str) -> None:
    with pytest.raises(MalformedIdentifier, match="no account can be called"):
        await catalog.accounts.create(AccountName(name))


async def test_an_organisation_is_an_account_that_neither_logs_in_nor_administers(catalog: Catalog) -> None:
    made = await catalog.accounts.create(AccountName("office"), kind=AccountKind.ORGANIZATION)
    assert (await catalog.accounts.find(AccountName("Office"))) == made
    assert str(made.id).startswith("did:odf:fed01")
    for attempt in (
        catalog.accounts.create(AccountName("other"), kind=AccountKind.ORGANIZATION, password=PASSWORD),
        catalog.accounts.create(AccountName("other"), kind=AccountKind.ORGANIZATION, is_admin=True),
        catalog.accounts.set_password(made.name, PASSWORD),
        catalog.accounts.set_admin(made.name, is_admin=True),
    ):
        with pytest.raises(UnsupportedOperation, match="organisation"):
            await attempt
    assert await catalog.accounts.list() == [made]


async def test_a_disabled_account_does_not_log_in_until_it_is_enabled(catalog: Catalog) -> None:
    erin = await catalog.accounts.create(AccountName("erin"), password=PASSWORD)
    assert (await catalog.accounts.disable(erin.name)).disabled
    with pytest.raises(AuthenticationRequired, match="Invalid credentials"):
        await catalog.accounts.check_password(erin.name, PASSWORD)
    assert await catalog.accounts.enable(erin.name) == erin
    assert await catalog.accounts.check_password(erin.name, PASSWORD) == erin


async def test_the_first_administrator_is_made_once(catalog: Catalog) -> None:
    made = await catalog.accounts.bootstrap(AccountName("admin"))
    assert made.is_admin
    for name in ("admin", "bob"):
        with pytest.raises(Conflict, match="has an administrator"):
            await catalog.accounts.bootstrap(AccountName(name))
    assert await catalog.accounts.list() == [made]


async def test_nobody_becomes_the_first_administrator_by_having_taken_the_name(
    catalog: Catalog, alice: Account
) -> None:
    with pytest.raises(NameCollision):
        await catalog.accounts.bootstrap(AccountName("ALICE"))
    assert await catalog.accounts.list() == [alice]


async def test_of_many_who_want_to_be_the_first_administrator_exactly_one_is(catalog: Catalog) -> None:
    names = [AccountName(f"account{number}") for number in range(6)]
    done = await asyncio.gather(*map(catalog.accounts.bootstrap, names), return_exceptions=True)
    assert sum(isinstance(each, Account) for each in done) == 1
    assert sum(account.is_admin for account in await catalog.accounts.list()) == 1


async def test_the_last_administrator_stays_one(catalog: Catalog, alice: Account, bob: Account) -> None:
    await catalog.accounts.set_admin(alice.name, is_admin=True)
    for attempt in (catalog.accounts.disable(alice.name), catalog.accounts.set_admin(alice.name, is_admin=False)):
        with pytest.raises(Conflict, match="nobody would administer"):
            await attempt
    assert (await catalog.accounts.find(alice.name)).is_admin
    await catalog.accounts.set_admin(bob.name, is_admin=True)
    assert not (await catalog.accounts.set_admin(alice.name, is_admin=False)).is_admin
    with pytest.raises(Conflict):
        await catalog.accounts.disable(bob.name)


async def test_where_nobody_administers_accounts_are_disabled_all_the_same(catalog: Catalog, alice: Account) -> None:
    assert (await catalog.accounts.disable(alice.name)).disabled
    assert (await catalog.accounts.bootstrap(AccountName("admin"))).is_admin
    with pytest.raises(Conflict):
        await catalog.accounts.disable(AccountName("admin"))


@pytest.mark.parametrize("deed", ["disable", "enable", "find"])
async def test_what_is_done_to_no_account_is_told(catalog: Catalog, deed: str) -> None:
    with pytest.raises(NotFound, match="account nobody"):
        await getattr(catalog.accounts, deed)(AccountName("nobody"))
