"""The worker's look at its datasets: what moved is told, what is gone is forgotten, what is away is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from catalog.catalog import Catalog, open_catalog
from catalog.jobs import SETTLE_S, TRANSFORM, VERIFY, ClaimedJob, JobId
from catalog.run_times import Schedule
from catalog.sqlite_files import sqlite_url
from opendatafabric.codec.block_codec import encode_block
from opendatafabric.errors import StorageError
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.events import SetInfo
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.repository import Repository
from tests.catalog.conftest import Clock
from tests.pipeline.test_pull_order import add, id_of
from tests.storage.chains import instant
from verify.lookout import Lookout
from verify.worker import JobWorker

ON_CHANGE = Schedule(None, on_change=True)


@dataclass
class Place:
    """A repository with a root ``a``, ``b`` derived from it and ``c`` from both, and a worker over it."""

    repository: Repository
    catalog: Catalog
    clock: Clock
    done: list[str] = field(default_factory=list)
    moves: bool = False

    def __post_init__(self) -> None:
        self.lookout = Lookout(self.repository, self.catalog)
        kinds = {kind: self.lookout.around(self._run) for kind in (TRANSFORM, VERIFY)}
        self.worker = JobWorker(self.catalog.jobs, kinds)

    async def _run(self, job: ClaimedJob) -> Mapping[str, Any]:
        alias = (await self.repository.find(job.id.dataset_id)).alias
        self.done.append(str(alias) if job.id.kind == TRANSFORM else f"{job.id.kind} {alias}")
        if self.moves and job.id.kind == TRANSFORM:
            await self.move(str(alias))
        return {}

    async def move(self, name: str) -> None:
        """Another program appends to it."""
        dataset = (await self.repository.find(id_of(name))).dataset
        head = await dataset.head()
        assert head is not None
        await dataset.append([await next_block(dataset, head)], expected_head=head)

    async def work(self) -> list[str]:
        """Look once, do all that is due soon; what was done."""
        self.done.clear()
        await self.lookout.look()
        self.clock.now += SETTLE_S
        while await self.worker.run_due():
            self.clock.now += SETTLE_S
        return list(self.done)


async def next_block(dataset: Dataset, head: Multihash) -> HashedBlock:
    """One more description."""
    number = (await dataset.chain_state(head)).sequence_number + 1
    return encode_block(MetadataBlock(instant(86_400 * 365 + number), head, number, SetInfo(description=f"{number}")))


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    clock, repository = Clock(), Repository.init(tmp_path / "repository")
    for name, inputs in (("a", []), ("b", ["a"]), ("c", ["a", "b"])):
        await add(repository, name, inputs)
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite"), now=clock) as catalog:
        yield Place(repository, catalog, clock)


async def test_what_another_program_appends_is_found_and_followed_in_order(place: Place) -> None:
    for name in ("c", "b"):
        await place.catalog.schedules.set(JobId(TRANSFORM, id_of(name)), ON_CHANGE)
    await place.catalog.schedules.set(JobId(VERIFY, id_of("c")), ON_CHANGE)
    assert sorted(await place.work()) == ["b", "c", "verify c"]
    assert await place.work() == []
    place.moves = True
    await place.move("a")
    assert await place.work() == ["b", "c", "verify c"]
    assert await place.work() == []


async def test_a_schedule_with_times_watches_nothing(place: Place) -> None:
    await place.catalog.schedules.set(JobId(TRANSFORM, id_of("b")), Schedule("* * * * *"))
    place.clock.now += 60
    assert await place.work() == ["b"]
    assert await place.catalog.watches.watched() == {}


async def test_an_input_that_is_not_here_yet_is_watched_for(place: Place) -> None:
    await add(place.repository, "d", ["e"])
    await place.catalog.schedules.set(JobId(TRANSFORM, id_of("d")), ON_CHANGE)
    assert await place.work() == ["d"]
    assert await place.work() == []
    await add(place.repository, "e", [])
    assert await place.work() == ["d"]


async def test_the_schedules_of_a_dataset_that_is_gone_end(place: Place) -> None:
    jobs = [JobId(kind, id_of("b")) for kind in (TRANSFORM, VERIFY)]
    for job_id in jobs:
        await place.catalog.schedules.set(job_id, Schedule("* * * * *"))
    await place.repository.delete(id_of("b"))
    place.clock.now += 60
    assert await place.work() == []
    assert [await place.catalog.schedules.find(job_id) for job_id in jobs] == [None, None]
    assert [await place.catalog.jobs.state(job_id) for job_id in jobs] == [None, None]
    place.clock.now += 3_600
    assert not await place.worker.run_due()


async def test_a_paused_schedule_of_a_dataset_that_is_gone_ends_too(place: Place) -> None:
    for name in ("b", "c"):
        await place.catalog.schedules.set(JobId(TRANSFORM, id_of(name)), Schedule("* * * * *"))
        await place.catalog.schedules.pause(JobId(TRANSFORM, id_of(name)))
    await place.repository.delete(id_of("b"))
    await place.lookout.forget_gone()
    assert [each.id.dataset_id for each in await place.catalog.schedules.list(TRANSFORM)] == [id_of("c")]


async def test_a_disk_that_is_away_takes_no_schedules_along(place: Place, tmp_path: Path) -> None:
    await place.catalog.schedules.set(JobId(TRANSFORM, id_of("b")), Schedule("* * * * *"))
    (tmp_path / "repository").rename(tmp_path / "away")
    with pytest.raises(StorageError):
        await place.lookout.forget_gone()
    place.clock.now += 60
    assert await place.work() == []
    found = await place.catalog.schedules.find(JobId(TRANSFORM, id_of("b")))
    assert found is not None
    assert found.state.failures == 1


async def test_it_looks_again_and_again_whatever_fails(place: Place, tmp_path: Path) -> None:
    await place.catalog.schedules.set(JobId(TRANSFORM, id_of("b")), ON_CHANGE)
    await place.work()
    (tmp_path / "repository").rename(tmp_path / "away")
    looking = asyncio.create_task(place.lookout.look_for_ever(every_s=0.01))
    (tmp_path / "away").rename(tmp_path / "repository")
    await place.move("a")
    async with asyncio.timeout(30):
        while not await place.worker.run_due():
            place.clock.now += SETTLE_S
            await asyncio.sleep(0.01)
    looking.cancel()
    assert place.done[-1] == "b"
