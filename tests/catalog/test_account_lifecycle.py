"""Accounts renamed and deleted: what goes with them, what is kept, what holds them back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from catalog.account_lifecycle import AccountLifecycle
from catalog.accounts import Account, AccountKind
from catalog.catalog import Catalog
from catalog.datasets import DatasetRecord
from catalog.lifecycle import Lifecycle
from catalog.lifecycle_terms import Terms
from catalog.reindex import reindex
from catalog.roles import Role
from catalog.scopes import Scope, parse_patterns
from catalog.tombstones import Change, Fate
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import (
    AuthenticationRequired,
    Conflict,
    MalformedIdentifier,
    NameCollision,
    NotFound,
)
from opendatafabric.names import AccountName
from storage.folders import RepositoryLayout
from storage.repository import Repository
from tests.catalog.conftest import Clock
from tests.storage.chains import dataset_id
from tests.suites.repository import add, alias, listed

DAY = 86_400.0
TERMS = Terms(deleted_kept_s=7 * DAY, names_reserved_s=90 * DAY)
ALICE, CAROL = AccountName("alice"), AccountName("Carol")


@dataclass
class Place:
    """A repository, its catalog and the ends of its accounts."""

    repository: Repository
    catalog: Catalog
    clock: Clock
    alice: Account
    bob: Account
    datasets: Lifecycle
    accounts: AccountLifecycle

    async def add(self, name: str = "alice/foo", number: int = 1) -> DatasetRecord:
        await add(self.repository, name, number)
        record = DatasetRecord(dataset_id(number), alias(name), self.alice.id, Visibility.PUBLIC)
        await self.catalog.datasets.put(record)
        return record

    async def names(self) -> list[str]:
        return await listed(self.repository)

    async def alias_of(self, number: int = 1) -> str:
        record = await self.catalog.datasets.find(dataset_id(number))
        return "" if record is None else str(record.alias)


@pytest.fixture
def place(tmp_path: Path, catalog: Catalog, clock: Clock, alice: Account, bob: Account) -> Place:
    repository = Repository.init(tmp_path / "datasets", RepositoryLayout.BY_ALIAS)
    datasets = Lifecycle(repository, catalog, TERMS, clock)
    accounts = AccountLifecycle(catalog, datasets, TERMS, default_account=AccountName("kamu"))
    return Place(repository, catalog, clock, alice, bob, datasets, accounts)


async def test_an_account_takes_its_datasets_along_and_stays_the_same(place: Place) -> None:
    await place.add("alice/foo", 1)
    await place.add("alice/bar", 2)
    token = await place.catalog.tokens.create(place.alice)
    renamed = await place.accounts.rename(place.alice, CAROL, by=place.bob.id)
    assert (renamed.id, str(renamed.name)) == (place.alice.id, "Carol")
    assert await place.names() == ["Carol/bar", "Carol/foo"]
    assert [await place.alias_of(1), await place.alias_of(2)] == ["Carol/foo", "Carol/bar"]
    assert (await place.catalog.tokens.authenticate(token)).account == renamed
    with pytest.raises(NotFound):
        await place.catalog.accounts.find(ALICE)


async def test_what_became_of_a_dataset_below_the_old_name_is_told(place: Place) -> None:
    await place.add()
    await place.accounts.rename(place.alice, CAROL, by=place.bob.id)
    stone = await place.catalog.tombstones.of_name(alias("alice/foo"))
    assert stone is not None
    assert (stone.fate, str(stone.new_alias), stone.account_id) == (Fate.RENAMED, "Carol/foo", place.bob.id)


async def test_an_old_name_is_kept_for_the_account_and_then_anybodys(place: Place) -> None:
    carol = await place.accounts.rename(place.alice, CAROL, by=None)
    with pytest.raises(NameCollision, match="is kept for the account that had it"):
        await place.catalog.accounts.create(AccountName("ALICE"))
    with pytest.raises(NameCollision):
        await place.accounts.rename(place.bob, ALICE, by=None)
    assert (await place.accounts.rename(carol, ALICE, by=None)).name == ALICE
    place.clock.now += 90 * DAY
    await place.accounts.finish_begun()
    assert (await place.catalog.accounts.create(CAROL)).name == CAROL


async def test_the_case_of_a_name_may_change(place: Place) -> None:
    await place.add()
    await place.accounts.rename(place.alice, AccountName("Alice"), by=None)
    assert await place.alias_of() == "Alice/foo"
    assert await place.catalog.former_account_names.unsettled() == []


@pytest.mark.parametrize(("name", "error"), [("BOB", NameCollision), ("accounts", MalformedIdentifier)])
async def test_a_name_that_nobody_may_take_is_refused(place: Place, name: str, error: type[Exception]) -> None:
    await place.add()
    with pytest.raises(error):
        await place.accounts.rename(place.alice, AccountName(name), by=None)
    assert (await place.catalog.accounts.find(ALICE), await place.names()) == (place.alice, ["alice/foo"])


async def test_a_dataset_that_is_busy_follows_later(place: Place) -> None:
    record = await place.add()
    stone = await place.catalog.tombstones.begin(Change(Fate.RENAMED, record, None, DAY, new_alias=alias("alice/bar")))
    await place.accounts.rename(place.alice, CAROL, by=None)
    assert await place.names() == ["alice/foo"]
    await place.catalog.tombstones.withdraw(stone)
    await place.accounts.finish_begun()
    assert await place.names() == ["Carol/foo"]
    assert await place.catalog.former_account_names.unsettled() == []


async def test_a_renaming_that_was_broken_off_is_brought_to_its_end(place: Place) -> None:
    await place.add()
    carol = await place.catalog.account_ends.rename(place.alice, CAROL, kept_s=DAY, by=None)
    await place.catalog.account_ends.rename(carol, AccountName("dora"), kept_s=DAY, by=None)
    await place.accounts.finish_begun()
    assert await place.names() == ["dora/foo"]


async def test_what_was_deleted_comes_back_below_the_new_name(place: Place) -> None:
    await place.datasets.delete(await place.add(), by=None)
    await place.accounts.rename(place.alice, CAROL, by=None)
    assert str((await place.datasets.undelete(dataset_id(1))).alias) == "Carol/foo"


async def test_datasets_of_others_below_the_name_stay_where_they_are(place: Place) -> None:
    await add(place.repository, "alice/bobs", 3)
    await place.catalog.datasets.put(
        DatasetRecord(dataset_id(3), alias("alice/bobs"), place.bob.id, Visibility.PRIVATE)
    )
    await place.accounts.rename(place.alice, CAROL, by=None)
    assert await place.names() == ["alice/bobs"]


async def test_tokens_bound_to_datasets_below_the_name_follow(place: Place) -> None:
    bound = parse_patterns(["Alice/net.*", "bob/*", "weather"])
    token = await place.catalog.tokens.create(place.bob, [Scope.DATASETS_READ], datasets=bound)
    await place.accounts.rename(place.alice, CAROL, by=None)
    patterns = (await place.catalog.tokens.authenticate(token)).datasets
    assert [str(each) for each in patterns] == ["Carol/net.%", "bob/%", "weather"]


async def test_looking_at_all_datasets_makes_no_account_of_a_name_that_is_kept(place: Place) -> None:
    await place.accounts.rename(place.alice, CAROL, by=None)
    await add(place.repository, "alice/laid-here", 5)
    await reindex(
        place.repository,
        place.catalog.accounts,
        place.catalog.datasets,
        default_owner=place.bob,
        default_visibility=Visibility.PRIVATE,
    )
    found = await place.catalog.datasets.find(dataset_id(5))
    assert found is not None
    assert found.owner_id == place.bob.id


async def test_a_deleted_account_is_gone_with_its_tokens_and_nobody_has_its_name(place: Place) -> None:
    token = await place.catalog.tokens.create(place.alice)
    await place.catalog.roles.grant(place.bob.id, place.alice, Role.WRITER)
    await place.accounts.delete(place.alice, by=None)
    with pytest.raises(AuthenticationRequired):
        await place.catalog.tokens.authenticate(token)
    assert await place.catalog.roles.list(place.bob.id) == []
    with pytest.raises(NameCollision):
        await place.catalog.accounts.find_or_create(ALICE)
    place.clock.now += 90 * DAY
    assert (await place.catalog.accounts.create(ALICE)).id != place.alice.id


async def test_an_account_stays_while_it_owns_datasets_also_deleted_ones(place: Place) -> None:
    record = await place.add()
    with pytest.raises(Conflict, match="alice owns datasets"):
        await place.accounts.delete(place.alice, by=None)
    await place.datasets.delete(record, by=None)
    with pytest.raises(Conflict, match="alice owns datasets"):
        await place.accounts.delete(place.alice, by=None)
    await place.datasets.purge(record.id)
    await place.accounts.delete(place.alice, by=None)


async def test_an_account_may_go_that_gave_its_datasets_away(place: Place) -> None:
    record = await place.add()
    await place.datasets.offer(record, place.bob, by=None)
    await place.datasets.take(record.id, by=None)
    await place.accounts.delete(place.alice, by=None)
    assert await place.names() == ["bob/foo"]


async def test_the_last_owner_of_an_organisation_stays(place: Place) -> None:
    office = await place.catalog.accounts.create(AccountName("office"), kind=AccountKind.ORGANIZATION)
    await place.catalog.roles.grant(office.id, place.alice, Role.OWNER)
    with pytest.raises(Conflict, match="last owner of office"):
        await place.accounts.delete(place.alice, by=None)
    await place.catalog.roles.grant(office.id, place.bob, Role.OWNER)
    await place.accounts.delete(place.alice, by=None)
    assert [grant.holder for grant in await place.catalog.roles.list(office.id)] == ["bob"]


async def test_the_last_administrator_stays(place: Place) -> None:
    root = await place.catalog.accounts.create(AccountName("root"), is_admin=True)
    with pytest.raises(Conflict, match="nobody would administer"):
        await place.accounts.delete(root, by=None)
    assert await place.catalog.accounts.find(root.name) == root


async def test_the_account_that_settings_name_keeps_its_name_and_stays(place: Place) -> None:
    kamu = await place.catalog.accounts.create(AccountName("Kamu"))
    with pytest.raises(Conflict, match="datasets that name none"):
        await place.accounts.rename(kamu, CAROL, by=None)
    with pytest.raises(Conflict, match="datasets that name none"):
        await place.accounts.delete(kamu, by=None)


async def test_a_name_of_a_dataset_that_is_kept_for_somebody_else_holds_an_account_back(place: Place) -> None:
    await place.add("alice/foo", 1)
    await add(place.repository, "dora/foo", 2)
    bobs = DatasetRecord(dataset_id(2), alias("dora/foo"), place.bob.id, Visibility.PUBLIC)
    await place.catalog.datasets.put(bobs)
    await place.datasets.rename(bobs, DatasetAlias(place.bob.name, bobs.alias.name), by=None)
    with pytest.raises(NameCollision, match="reserved for its former owner"):
        await place.accounts.rename(place.alice, AccountName("dora"), by=None)
    assert await place.names() == ["alice/foo", "bob/foo"]
