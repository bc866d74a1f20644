"""Lists of datasets: who sees what, in which order, and which of them hold some words."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.dataset_lists import Order
from catalog.datasets import DatasetRecord
from catalog.facts_of_blocks import ColumnFacts, Facts
from catalog.reports import KeptReport
from catalog.roles import Role
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.multihash import physical_hash
from opendatafabric.names import AccountName

HEAD = physical_hash(b"head")
NUMBERS: Mapping[str, int] = {"open": 1, "hidden": 2, "unlisted": 3}


def id_of(name: str) -> DatasetId:
    return new_dataset_id(name.encode().ljust(32, b"."))


async def put(
    catalog: Catalog, owner: Account, name: str, visibility: Visibility = Visibility.PUBLIC, **facts: object
) -> None:
    record = DatasetRecord(id_of(name), DatasetAlias.from_text(f"alice/{name}"), owner.id, visibility)
    await catalog.datasets.put(record)
    made = Facts(HEAD, "root", **{"updated_at": 1.0, **facts})  # type: ignore[arg-type]
    assert await catalog.dataset_facts.advance(record.id, made, [], expected_head=None)


@pytest.fixture
async def root(catalog: Catalog) -> Account:
    return await catalog.accounts.create(AccountName("root"), is_admin=True)


@pytest.fixture
async def three(catalog: Catalog, alice: Account) -> None:
    """One of each visibility."""
    await put(catalog, alice, "open")
    await put(catalog, alice, "hidden", Visibility.PRIVATE)
    await put(catalog, alice, "unlisted", Visibility.UNLISTED)


async def names(catalog: Catalog, reader: Account | None, **wanted: object) -> list[str]:
    found = await catalog.dataset_lists.list(reader, **{"count": 100, **wanted})  # type: ignore[arg-type]
    return [str(each.alias.name) for each in found]


@pytest.mark.usefixtures("three")
async def test_strangers_see_what_is_public_and_nothing_that_is_unlisted(catalog: Catalog, bob: Account) -> None:
    assert await names(catalog, None) == ["open"]
    assert await names(catalog, bob) == ["open"]


@pytest.mark.usefixtures("three")
async def test_owners_and_administrators_see_all(catalog: Catalog, alice: Account, root: Account) -> None:
    assert set(await names(catalog, alice)) == set(NUMBERS)
    assert set(await names(catalog, root)) == set(NUMBERS)


@pytest.mark.usefixtures("three")
async def test_a_role_in_a_dataset_or_an_account_shows_what_it_is_for(
    catalog: Catalog, alice: Account, bob: Account
) -> None:
    await catalog.roles.grant(id_of("hidden"), bob, Role.READER)
    assert set(await names(catalog, bob)) == {"open", "hidden"}
    await catalog.roles.grant(alice.id, bob, Role.READER)
    assert set(await names(catalog, bob)) == set(NUMBERS)
    assert await names(catalog, None) == ["open"]


async def test_what_was_not_looked_at_yet_is_not_listed(catalog: Catalog, alice: Account) -> None:
    record = DatasetRecord(id_of("new"), DatasetAlias.from_text("alice/new"), alice.id, Visibility.PUBLIC)
    await catalog.datasets.put(record)
    assert await names(catalog, None) == []


async def test_orders(catalog: Catalog, alice: Account) -> None:
    await put(catalog, alice, "b", updated_at=3.0, records=1)
    await put(catalog, alice, "a", updated_at=1.0, records=2)
    await put(catalog, alice, "c", updated_at=2.0, records=9)
    assert await names(catalog, None, order=Order.NEWEST) == ["b", "c", "a"]
    assert await names(catalog, None, order=Order.LARGEST) == ["c", "a", "b"]
    assert await names(catalog, None, order=Order.NAME) == ["a", "b", "c"]
    assert await names(catalog, None, order=Order.NAME, count=1, after=1) == ["b"]


@pytest.mark.parametrize(
    ("words", "found"),
    [(["RAIN"], True), (["rain", "kyiv"], True), (["rain", "snow"], False), (["temp_max"], True), (["%"], False)],
)
async def test_every_word_must_be_somewhere(catalog: Catalog, alice: Account, words: list[str], *, found: bool) -> None:
    columns = (ColumnFacts("temp_max", ""),)
    await put(catalog, alice, "weather", description="Rain of a day", keywords=("Kyiv",), columns=columns)
    assert await names(catalog, None, words=words) == (["weather"] if found else [])


async def test_an_account_is_listed_alone(catalog: Catalog, alice: Account, bob: Account) -> None:
    await put(catalog, alice, "a")
    await put(catalog, bob, "b")
    assert await names(catalog, None, owner=bob.id) == ["b"]


async def test_what_was_found_valid_last_stands_first_and_once(catalog: Catalog, alice: Account) -> None:
    for name in ("a", "b", "c", "hidden"):
        await put(catalog, alice, name, Visibility.PRIVATE if name == "hidden" else Visibility.PUBLIC)
    told = [
        ("a", 1.0, "valid"),
        ("b", 2.0, "valid"),
        ("a", 3.0, "valid"),
        ("c", 4.0, "invalid"),
        ("hidden", 5.0, "valid"),
    ]
    for name, at, verdict in told:
        report = physical_hash(f"{name}{at}".encode())
        await catalog.reports.add(KeptReport(id_of(name), report, HEAD, verdict, replayed=False, ended_at=at))
    found = await catalog.dataset_lists.verified(None, count=9)
    assert [(str(each.dataset.alias.name), each.verified_at) for each in found] == [("a", 3.0), ("b", 2.0)]
