"""The rights that a schedule was lent hold for what the chain said then, in datasets of others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from catalog.accounts import Account
from catalog.catalog import Catalog, open_catalog
from catalog.datasets import DatasetRecord
from catalog.jobs import POLL, TRANSFORM, VERIFY, ClaimedJob, JobId
from catalog.permissions import Rights
from catalog.run_times import Schedule
from catalog.sqlite_files import sqlite_url
from catalog.visibility import Visibility
from opendatafabric.codec.block_codec import encode_block
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import AccessDenied
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.events import DatasetKind, MetadataEvent, SetInfo, SetPollingSource, SetTransform
from opendatafabric.metadata.sources import FetchStepUrl, MergeStrategyAppend, ReadStepCsv
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from opendatafabric.names import AccountName
from storage.repository import DatasetEntry, Repository
from tests.catalog.conftest import Clock
from tests.storage.chains import ChainBuilder, dataset_id, instant
from verify.trust import Trust, said_by

pytestmark = pytest.mark.slow

ROOT_ID, DERIVED_ID = dataset_id(1), dataset_id(2)


def source(url: str) -> SetPollingSource:
    return SetPollingSource(FetchStepUrl(url), None, ReadStepCsv(), None, MergeStrategyAppend())


def transform(number: int, query: str = "select 1") -> SetTransform:
    """Of one input."""
    steps = (SqlQueryStep(query=query),)
    return SetTransform((TransformInput(dataset_id(number), "given"),), TransformSql("spark", queries=steps))


@dataclass
class House:
    """A polled root and a derivative of alice's, scheduled by root the administrator or by bob."""

    catalog: Catalog
    repository: Repository
    clock: Clock
    accounts: dict[str, Account]

    async def entry(self, kind: str) -> DatasetEntry:
        return await self.repository.find(ROOT_ID if kind == POLL else DERIVED_ID)

    async def schedule(self, kind: str, who: str, *, noted: bool = True) -> None:
        entry, account = await self.entry(kind), self.accounts[who]
        said = await said_by(entry.dataset, kind) if noted else None
        every_minute = Schedule("* * * * *")
        await self.catalog.schedules.set(
            JobId(kind, entry.id), every_minute, foreign=not account.is_admin, account_id=account.id, said=said
        )

    async def write(self, kind: str, event: MetadataEvent) -> None:
        """Somebody pushes a block."""
        dataset = (await self.entry(kind)).dataset
        head = await dataset.head()
        assert head is not None
        number = (await dataset.chain_state(head)).sequence_number + 1
        block = encode_block(MetadataBlock(instant(10_000 + number), head, number, event))
        await dataset.append([block], expected_head=head)

    async def checked(self, kind: str) -> ClaimedJob:
        """The job as the worker does it."""
        self.clock.now += 60
        job = await self.catalog.jobs.claim_due([kind], "worker", lease_s=1)
        assert job is not None
        rights = Rights(
            self.catalog.accounts, self.catalog.datasets, self.catalog.roles, AccountName("default"), Visibility.PRIVATE
        )
        return await Trust(self.repository, rights).checked(job)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    clock, repository = Clock(), Repository.init(tmp_path / "repository")
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite"), now=clock) as catalog:
        names = ("alice", "bob", "root", "default")
        accounts = {name: await catalog.accounts.create(AccountName(name), is_admin=name == "root") for name in names}
        made = House(catalog, repository, clock, accounts)
        for each, kind, event in (
            (ROOT_ID, DatasetKind.ROOT, source("http://10.0.0.1/")),
            (DERIVED_ID, DatasetKind.DERIVATIVE, transform(1)),
        ):
            chain = ChainBuilder(each, kind)
            chain.add(event)
            entry = await repository.create(DatasetAlias.from_text(kind.name.lower()), each)
            await entry.dataset.append(chain.blocks, expected_head=None)
            await catalog.datasets.put(DatasetRecord(each, entry.alias, accounts["alice"].id, Visibility.PUBLIC))
        yield made


@pytest.mark.parametrize("kind", [POLL, TRANSFORM, VERIFY])
@pytest.mark.parametrize(("who", "foreign"), [("root", False), ("bob", True)])
async def test_what_is_as_it_was_scheduled_is_done_so(house: House, kind: str, who: str, foreign: bool) -> None:
    await house.schedule(kind, who)
    await house.write(kind, SetInfo(description="more words"))
    job = await house.checked(kind)
    assert (job.foreign, job.account_id) == (foreign, house.accounts[who].id)


async def test_another_source_is_polled_as_a_strangers(house: House) -> None:
    await house.schedule(POLL, "root")
    await house.write(POLL, source("http://10.0.0.2/secret"))
    assert (await house.checked(POLL)).foreign
    await house.schedule(POLL, "root")
    assert not (await house.checked(POLL)).foreign


@pytest.mark.parametrize("kind", [TRANSFORM, VERIFY])
@pytest.mark.parametrize("who", ["root", "bob", "alice"])
async def test_another_query_over_the_same_inputs_is_computed_as_a_strangers(house: House, kind: str, who: str) -> None:
    await house.schedule(kind, who)
    await house.write(kind, transform(1, "select 2"))
    job = await house.checked(kind)
    assert (job.foreign, job.account_id) == (True, house.accounts[who].id)


@pytest.mark.parametrize("kind", [TRANSFORM, VERIFY])
@pytest.mark.parametrize("who", ["root", "bob", "alice"])
async def test_other_inputs_are_read_when_the_schedule_was_set_again(house: House, kind: str, who: str) -> None:
    await house.schedule(kind, who)
    await house.write(kind, transform(3))
    with pytest.raises(AccessDenied, match="other inputs than when the schedule was set"):
        await house.checked(kind)
    await house.schedule(kind, who)
    assert (await house.checked(kind)).account_id == house.accounts[who].id


@pytest.mark.parametrize("kind", [POLL, TRANSFORM])
async def test_where_nothing_was_noted_an_administrator_lends_nothing(house: House, kind: str) -> None:
    await house.schedule(kind, "root", noted=False)
    job = await house.checked(kind)
    assert (job.foreign, job.account_id) == (True, house.accounts["alice"].id)
    await house.schedule(kind, "bob", noted=False)
    assert (await house.checked(kind)).account_id == house.accounts["bob"].id


@pytest.mark.parametrize("owner", ["root", "default"])
async def test_datasets_of_administrators_and_of_the_default_owner_are_their_business(house: House, owner: str) -> None:
    await house.catalog.datasets.set_owner(DERIVED_ID, house.accounts[owner])
    await house.schedule(TRANSFORM, "root")
    await house.write(TRANSFORM, transform(3))
    assert not (await house.checked(TRANSFORM)).foreign


async def test_so_are_datasets_that_the_catalog_does_not_know(house: House) -> None:
    await house.catalog.datasets.forget(DERIVED_ID)
    await house.schedule(TRANSFORM, "root", noted=False)
    assert not (await house.checked(TRANSFORM)).foreign
