"""The index of datasets: what is kept, what a rebuild changes, what the reflog says."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.datasets import DatasetRecord
from catalog.reindex import Reindexed, reindex
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.multihash import physical_hash
from opendatafabric.names import AccountName
from storage.repository import Repository
from tests.catalog.conftest import Clock

ID = new_dataset_id(bytes(32))
HEADS = [physical_hash(bytes([number])) for number in range(3)]


def a_record(owner: Account, visibility: Visibility = Visibility.PRIVATE, alias: str = "alice/d") -> DatasetRecord:
    return DatasetRecord(ID, DatasetAlias.from_text(alias), owner.id, visibility)


async def test_what_is_put_is_found(catalog: Catalog, alice: Account) -> None:
    await catalog.datasets.put(a_record(alice))
    assert await catalog.datasets.find(ID) == a_record(alice)


async def test_a_dataset_that_was_never_put_is_not_known(catalog: Catalog) -> None:
    assert await catalog.datasets.find(ID) is None


async def test_putting_again_renames_and_leaves_owner_and_visibility(
    catalog: Catalog, alice: Account, bob: Account
) -> None:
    await catalog.datasets.put(a_record(alice, Visibility.PUBLIC))
    await catalog.datasets.put(a_record(bob, Visibility.PRIVATE, "alice/renamed"))
    assert await catalog.datasets.find(ID) == a_record(alice, Visibility.PUBLIC, "alice/renamed")


async def test_visibility_and_owner_are_changed_on_purpose(catalog: Catalog, alice: Account, bob: Account) -> None:
    await catalog.datasets.put(a_record(alice))
    await catalog.datasets.set_visibility(ID, Visibility.PUBLIC)
    await catalog.datasets.set_owner(ID, bob)
    assert await catalog.datasets.find(ID) == a_record(bob, Visibility.PUBLIC)


async def test_the_reflog_tells_who_moved_the_head_newest_first(catalog: Catalog, alice: Account, clock: Clock) -> None:
    await catalog.datasets.log_move(ID, alice, expected_head=None, new_head=HEADS[0])
    clock.now += 1
    await catalog.datasets.log_move(ID, None, expected_head=HEADS[0], new_head=HEADS[1])
    newest, oldest = await catalog.datasets.moves(ID)
    assert (newest.account_id, newest.expected_head, newest.new_head) == (None, str(HEADS[0]), str(HEADS[1]))
    assert (oldest.account_id, oldest.expected_head, oldest.at) == (str(alice.id), None, clock.now - 1)


@pytest.fixture
async def repository(tmp_path: Path) -> Repository:
    return Repository.init(tmp_path / "repository")


async def plant(repository: Repository, alias: str, number: int) -> DatasetId:
    """A dataset with a head, as somebody else may have put it there."""
    dataset_id = new_dataset_id(bytes([number] * 32))
    entry = await repository.create(DatasetAlias.from_text(alias), dataset_id)
    await entry.dataset.refs.compare_and_swap("head", expected=None, new=HEADS[0])
    return dataset_id


async def run(catalog: Catalog, repository: Repository, owner: Account) -> Reindexed:
    return await reindex(
        repository,
        catalog.accounts,
        catalog.datasets,
        default_owner=owner,
        default_visibility=Visibility.PRIVATE,
    )


async def test_a_rebuild_finds_what_lies_in_the_folders(
    catalog: Catalog, repository: Repository, alice: Account
) -> None:
    nameless = await plant(repository, "lonely", 1)
    owned = await plant(repository, "carol/d", 2)
    assert await run(catalog, repository, alice) == Reindexed(found=2, added=2, removed=0)
    carol = await catalog.accounts.find(AccountName("carol"))
    found = [await catalog.datasets.find(each) for each in (nameless, owned)]
    assert [record.owner_id for record in found if record] == [alice.id, carol.id]
    assert {record.visibility for record in found if record} == {Visibility.PRIVATE}


async def test_a_rebuild_changes_nothing_the_second_time(
    catalog: Catalog, repository: Repository, alice: Account, bob: Account
) -> None:
    dataset_id = await plant(repository, "lonely", 1)
    await run(catalog, repository, alice)
    await catalog.datasets.set_visibility(dataset_id, Visibility.PUBLIC)
    assert await run(catalog, repository, bob) == Reindexed(found=1, added=0, removed=0)
    record = await catalog.datasets.find(dataset_id)
    assert record is not None
    assert (record.owner_id, record.visibility) == (alice.id, Visibility.PUBLIC)


async def test_a_rebuild_forgets_what_is_gone(catalog: Catalog, repository: Repository, alice: Account) -> None:
    dataset_id = await plant(repository, "lonely", 1)
    await run(catalog, repository, alice)
    await repository.delete(dataset_id)
    assert await run(catalog, repository, alice) == Reindexed(found=0, added=0, removed=1)
    assert await catalog.datasets.find(dataset_id) is None


async def test_a_rebuild_leaves_alone_what_is_being_pushed_meanwhile(
    catalog: Catalog, repository: Repository, alice: Account
) -> None:
    await repository.create(DatasetAlias.from_text("alice/d"), ID)
    await catalog.datasets.put(a_record(alice))
    assert (await run(catalog, repository, alice)).removed == 0
    assert await catalog.datasets.find(ID) == a_record(alice)
