"""An identity of an issuer is one account, and no identity takes an account that is somebody's."""

from __future__ import annotations

import asyncio

import pytest

from catalog import external_identities
from catalog.accounts import Account
from catalog.catalog import Catalog
from opendatafabric.errors import NameCollision, NotFound
from opendatafabric.names import AccountName

ISSUER, OTHER = "https://issuer.example", "https://other.example"
CAROL = AccountName("carol")


async def test_an_identity_is_an_account_from_its_first_login_on(catalog: Catalog) -> None:
    with pytest.raises(NotFound):
        await catalog.external_identities.find(ISSUER, "1")
    made = await catalog.external_identities.find_or_create(ISSUER, "1", CAROL)
    assert (made.name, made.has_password, made.is_admin) == (CAROL, False, False)
    assert await catalog.external_identities.find(ISSUER, "1") == made
    assert await catalog.external_identities.find_or_create(ISSUER, "1", AccountName("renamed")) == made


async def test_the_same_subject_of_another_issuer_is_somebody_else(catalog: Catalog) -> None:
    first = await catalog.external_identities.find_or_create(ISSUER, "1", CAROL)
    second = await catalog.external_identities.find_or_create(OTHER, "1", CAROL)
    assert (second.name, second.id == first.id) == (AccountName("carol-2"), False)


async def test_an_account_that_is_there_is_not_given_away(catalog: Catalog, alice: Account) -> None:
    made = await catalog.external_identities.find_or_create(ISSUER, "1", AccountName("ALICE"))
    assert made.id != alice.id


async def test_names_that_are_alike_come_to_an_end(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_identities, "_NAMES_TRIED", 2)
    for subject in ("1", "2"):
        await catalog.external_identities.find_or_create(ISSUER, subject, CAROL)
    with pytest.raises(NameCollision):
        await catalog.external_identities.find_or_create(ISSUER, "3", CAROL)


async def test_who_logs_in_for_the_first_time_twice_at_once_is_one_account(catalog: Catalog) -> None:
    logins = (catalog.external_identities.find_or_create(ISSUER, "1", CAROL) for _ in range(4))
    assert len({account.id for account in await asyncio.gather(*logins)}) == 1
