"""Whose runs may push to which dataset, and that a token is used once."""

from __future__ import annotations

import asyncio

import pytest

from catalog import publishers
from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.datasets import DatasetRecord
from catalog.publishers import Trust
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import LimitExceeded, NotFound
from tests.catalog.conftest import Clock
from tests.storage.chains import dataset_id

ISSUER = "https://ci.example.org"
TRUST = Trust(ISSUER, {"repository": "alice/weather", "ref": "refs/heads/*"})
ONE, TWO = dataset_id(1), dataset_id(2)


@pytest.fixture(autouse=True)
async def datasets(catalog: Catalog, alice: Account) -> None:
    for number, each in enumerate((ONE, TWO)):
        alias = DatasetAlias.from_text(f"alice/d{number}")
        await catalog.datasets.put(DatasetRecord(each, alias, alice.id, Visibility.PUBLIC))


async def test_publishers_are_found_by_dataset_and_by_issuer(catalog: Catalog, alice: Account, clock: Clock) -> None:
    first = await catalog.publishers.add(ONE, alice.id, TRUST)
    clock.now += 1
    second = await catalog.publishers.add(TWO, alice.id, Trust("https://other.example", {"sub": "x"}, "mine"))
    assert await catalog.publishers.of(ONE) == [first]
    assert await catalog.publishers.of_issuer(ISSUER) == [first]
    assert (await catalog.publishers.of(TWO))[0].trust.audience == second.trust.audience == "mine"


async def test_a_publisher_is_removed_from_its_own_dataset_only(catalog: Catalog, alice: Account) -> None:
    made = await catalog.publishers.add(ONE, alice.id, TRUST)
    with pytest.raises(NotFound):
        await catalog.publishers.remove(TWO, made.id)
    await catalog.publishers.remove(ONE, made.id)
    assert await catalog.publishers.of(ONE) == []


async def test_publishers_go_with_their_dataset(catalog: Catalog, alice: Account) -> None:
    await catalog.publishers.add(ONE, alice.id, TRUST)
    await catalog.datasets.forget(ONE)
    assert await catalog.publishers.of_issuer(ISSUER) == []


async def test_a_dataset_has_so_many_publishers_at_most(
    catalog: Catalog, alice: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishers, "PUBLISHERS_MAX", 2)
    for _ in range(2):
        await catalog.publishers.add(ONE, alice.id, TRUST)
    with pytest.raises(LimitExceeded):
        await catalog.publishers.add(ONE, alice.id, TRUST)
    await catalog.publishers.add(TWO, alice.id, TRUST)


async def test_a_token_is_used_once_by_whoever_comes_first(catalog: Catalog, clock: Clock) -> None:
    ends_at = clock.now + 60
    used = await asyncio.gather(*(catalog.publishers.use("token", expires_at=ends_at) for _ in range(6)))
    assert used.count(True) == 1
    assert await catalog.publishers.use("another", expires_at=ends_at)


async def test_what_is_over_need_not_be_remembered(catalog: Catalog, clock: Clock) -> None:
    assert await catalog.publishers.use("token", expires_at=clock.now + 60)
    clock.now += 60
    assert await catalog.publishers.use("token", expires_at=clock.now + 60)
