"""Accounts: names without regard to case, ids that stay, passwords that cannot be read back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog, open_catalog
from opendatafabric.errors import AuthenticationRequired, MalformedInput, NameCollision, NotFound
from opendatafabric.names import AccountName
from tests.catalog.conftest import bytes_under

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
