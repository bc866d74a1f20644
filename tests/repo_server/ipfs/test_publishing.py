"""Publishing beside the requests: after a push, after changes by others, and before records end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog, open_catalog
from catalog.datasets import DatasetRecord
from catalog.ipns import StoredRecord
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError, StorageError, TransientStorageError
from opendatafabric.ipfs.ipns import verify_record
from opendatafabric.layout import data_key
from opendatafabric.names import AccountName
from repo_server.directory import Directory
from repo_server.ipfs import publishing
from repo_server.ipfs.keys import IpnsKeys
from repo_server.ipfs.publishing import RECORD_S, RENEW_BEFORE_S, Publisher
from storage.ipfs.index import PublishedTree
from storage.repository import Repository
from tests.catalog.conftest import Clock
from tests.storage.chains import ChainBuilder, dataset_id


@dataclass
class Published:
    """A repository with a publisher whose clock the test turns."""

    repository: Repository
    catalog: Catalog
    clock: Clock
    owner: Account

    def publisher(self) -> Publisher:
        """A server's; each has its own, over the same things."""
        directory = Directory(
            self.repository,
            self.catalog.datasets,
            self.catalog.roles,
            lambda: None,
            default_owner=self.owner,
            default_visibility=Visibility.PRIVATE,
        )
        return Publisher(self.repository, directory, self.catalog, IpnsKeys(bytes(32)), self.clock)

    async def add(self, number: int, visibility: Visibility = Visibility.PUBLIC) -> ChainBuilder:
        chain = ChainBuilder(dataset_id(number))
        chain.data(b"one")
        alias = DatasetAlias.from_text(f"alice/dataset-{number}")
        entry = await self.repository.create(alias, chain.id)
        await self.catalog.datasets.put(DatasetRecord(chain.id, alias, self.owner.id, visibility))
        for content_hash, content in chain.slices.items():
            await entry.dataset.writable_objects().put(data_key(content_hash), content)
        await entry.dataset.append(chain.blocks, expected_head=None)
        return chain

    async def append(self, chain: ChainBuilder) -> None:
        entry = await self.repository.find(chain.id)
        block = chain.info(f"change {len(chain.blocks)}")
        await entry.dataset.append([block], expected_head=chain.blocks[-2].hash)

    async def record(self, chain: ChainBuilder) -> StoredRecord:
        found = await self.catalog.ipns.of_dataset(chain.id)
        assert found is not None
        return found


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Published]:
    clock = Clock()
    repository = Repository.init(tmp_path / "datasets")
    async with open_catalog(f"sqlite+aiosqlite:///{tmp_path / 'catalog.sqlite'}", now=clock) as catalog:
        owner = await catalog.accounts.create(AccountName("alice"))
        yield Published(repository, catalog, clock, owner)


async def test_public_datasets_are_published_and_private_ones_are_not(here: Published) -> None:
    public, private = await here.add(1), await here.add(2, Visibility.PRIVATE)
    await here.publisher().publish_all()
    assert await here.catalog.ipfs.published_datasets() == [public.id]
    assert await here.catalog.ipns.of_dataset(private.id) is None
    assert (await here.record(public)).value.startswith("/ipfs/bafybei")


async def test_the_number_of_the_record_grows_with_every_head(here: Published) -> None:
    chain, publisher = await here.add(1), here.publisher()
    numbers, values = [], []
    for _ in range(3):
        await publisher.publish(chain.id)
        numbers.append((await here.record(chain)).sequence)
        values.append((await here.record(chain)).value)
        await here.append(chain)
    assert numbers == sorted(set(numbers))
    assert len(set(values)) == 3


async def test_a_record_stays_until_half_its_time_is_over_and_is_then_signed_again(here: Published) -> None:
    chain, publisher = await here.add(1), here.publisher()
    await publisher.publish(chain.id)
    first = await here.record(chain)
    here.clock.now += RECORD_S - RENEW_BEFORE_S - 1
    await publisher.publish_all()
    assert await here.record(chain) == first
    here.clock.now += 2
    await publisher.publish_all()
    renewed = await here.record(chain)
    assert (renewed.value, renewed.valid_until) == (first.value, here.clock.now + RECORD_S)
    assert renewed.sequence > first.sequence
    now = datetime.fromtimestamp(here.clock.now + RECORD_S - 1, UTC)
    assert verify_record(publisher.keys.name_of(chain.id), renewed.signed, now=now).value == first.value


async def test_two_servers_publish_the_same(here: Published) -> None:
    chain = await here.add(1)
    await here.publisher().publish(chain.id)
    first = await here.record(chain)
    await here.publisher().publish(chain.id)
    assert await here.record(chain) == first


async def test_a_lost_table_is_followed_by_a_higher_number(here: Published) -> None:
    chain, publisher = await here.add(1), here.publisher()
    await publisher.publish(chain.id)
    first = await here.record(chain)
    await here.catalog.ipns.forget(chain.id)
    here.clock.now += 1
    await publisher.publish(chain.id)
    assert (await here.record(chain)).sequence > first.sequence


async def test_a_dataset_that_became_private_or_was_deleted_is_forgotten(here: Published) -> None:
    hidden, deleted, publisher = await here.add(1), await here.add(2), here.publisher()
    await publisher.publish_all()
    await here.catalog.datasets.set_visibility(hidden.id, Visibility.PRIVATE)
    await here.repository.delete(deleted.id)
    await publisher.publish_all()
    assert await here.catalog.ipfs.published_datasets() == []
    assert await here.catalog.ipns.of_dataset(hidden.id) is None


async def test_a_damaged_dataset_does_not_keep_others_from_being_published(
    here: Published, caplog: pytest.LogCaptureFixture
) -> None:
    damaged, sound = await here.add(1), await here.add(2)
    entry = await here.repository.find(damaged.id)
    (entry.path / data_key(next(iter(damaged.slices)))).write_bytes(b"two")
    await here.publisher().publish_all()
    assert await here.catalog.ipfs.published_datasets() == [sound.id]
    assert "could not be published" in caplog.text


@pytest.mark.parametrize(
    ("error", "waits"),
    [(TransientStorageError("busy"), False), (StorageError("broken"), True)],
    ids=["now", "for good"],
)
async def test_a_round_in_which_something_failed_for_now_is_soon_followed_by_another(
    here: Published, monkeypatch: pytest.MonkeyPatch, error: OdfError, waits: bool
) -> None:
    await here.add(1)
    publisher = here.publisher()

    async def failing(dataset_id: DatasetId) -> PublishedTree | None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(publisher, "publish", failing)
        assert await publisher.publish_all() is waits
    assert await publisher.publish_all()


async def test_what_failed_for_now_is_published_without_being_woken(
    here: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, publisher = await here.add(1), here.publisher()
    publish, tried, done = publisher.publish, 0, asyncio.Event()

    async def failing_once(dataset_id: DatasetId) -> PublishedTree | None:
        nonlocal tried
        tried += 1
        if tried == 1:
            raise TransientStorageError("the catalog is busy")
        done.set()
        return await publish(dataset_id)

    monkeypatch.setattr(publisher, "publish", failing_once)
    monkeypatch.setattr(publishing, "_RETRY_S", 0)
    running = asyncio.create_task(publisher.run())
    await asyncio.wait_for(done.wait(), 10)
    publisher.stop()
    await asyncio.wait_for(running, 10)
    assert await here.catalog.ipfs.published_datasets() == [chain.id]


async def test_it_publishes_what_it_is_woken_for_and_ends_when_it_is_told(
    here: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, publisher = await here.add(1), here.publisher()
    publish, done = publisher.publish, asyncio.Event()

    async def noted(dataset_id: DatasetId) -> PublishedTree | None:
        tree = await publish(dataset_id)
        done.set()
        return tree

    monkeypatch.setattr(publisher, "publish", noted)
    running = asyncio.create_task(publisher.run())
    await asyncio.wait_for(done.wait(), 10)
    first = await here.record(chain)
    done.clear()
    await here.append(chain)
    publisher.wake(chain.id)
    await asyncio.wait_for(done.wait(), 10)
    assert (await here.record(chain)).sequence > first.sequence
    publisher.stop()
    await asyncio.wait_for(running, 10)


async def test_after_it_was_told_to_end_it_publishes_nothing_more(here: Published) -> None:
    await here.add(1)
    publisher = here.publisher()
    publisher.stop()
    await publisher.publish_all()
    assert await here.catalog.ipfs.published_datasets() == []


async def test_a_dataset_that_is_not_there_is_nothing_to_publish(here: Published) -> None:
    assert await here.publisher().publish(dataset_id(9)) is None
