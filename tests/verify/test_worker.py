"""The worker runs what is due, notes how it ended, and leaves nothing held when it stops."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from catalog.catalog import Catalog, open_catalog
from catalog.jobs import POLL, ClaimedJob, JobId, JobState
from catalog.run_times import Schedule
from catalog.sqlite_files import sqlite_url
from opendatafabric.did import new_dataset_id
from opendatafabric.errors import PeerUnavailable, TransientStorageError
from repo_server.logs import redacted
from tests.catalog.conftest import Clock
from verify.worker import AT_ONCE, JobWorker

JOBS = [JobId(POLL, new_dataset_id(bytes([number]) * 32)) for number in range(4)]


class Doing:
    """A kind of job that the test watches: each run waits until it may end."""

    def __init__(self) -> None:
        self.begun: list[ClaimedJob] = []
        self.most_at_once = self.at_once = 0
        self.may_end, self.begins = asyncio.Event(), asyncio.Semaphore(0)

    async def __call__(self, job: ClaimedJob) -> dict[str, Any]:
        self.begun.append(job)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.begins.release()
        try:
            await self.may_end.wait()
        finally:
            self.at_once -= 1
        return {"blocks": 1}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def catalog(tmp_path: Path, clock: Clock) -> AsyncIterator[Catalog]:
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite"), now=clock) as opened:
        yield opened


def worker(catalog: Catalog, kind: Any, *, lease_s: float = 60, job_s_max: float | None = None) -> JobWorker:
    options = {"lease_s": lease_s, "job_s_max": job_s_max}
    return JobWorker(catalog.jobs, {POLL: kind}, redacted=redacted, look_every_s=0.01, **options)


async def state(catalog: Catalog, job_id: JobId = JOBS[0]) -> JobState:
    found = await catalog.jobs.state(job_id)
    assert found is not None
    return found


async def test_what_is_due_is_done_and_noted(catalog: Catalog) -> None:
    await catalog.jobs.request(JOBS[0])
    doing = Doing()
    doing.may_end.set()
    assert await worker(catalog, doing).run_due()
    assert not await worker(catalog, doing).run_due()
    assert [job.id for job in doing.begun] == [JOBS[0]]
    assert ((await state(catalog)).outcome, (await state(catalog)).error) == ({"blocks": 1}, None)


async def test_a_failure_is_noted_without_its_secrets_and_tried_again(catalog: Catalog, clock: Clock) -> None:
    async def fail(_: ClaimedJob) -> dict[str, Any]:
        raise PeerUnavailable("http://me:s3cr3t@source/ did not answer")

    await catalog.schedules.set(JOBS[0], Schedule("* * * * *"))
    clock.now += 60
    await worker(catalog, fail).run_due()
    found = await state(catalog)
    assert (found.error, found.failures) == ("http://[redacted]@source/ did not answer", 1)
    assert found.due_at is not None


async def test_a_job_that_crashes_does_not_take_the_worker_along(catalog: Catalog) -> None:
    async def crash(_: ClaimedJob) -> dict[str, Any]:
        raise ZeroDivisionError("s3cr3t")

    await catalog.jobs.request(JOBS[0])
    assert await worker(catalog, crash).run_due()
    assert (await state(catalog)).error == "it crashed: ZeroDivisionError"


async def test_a_job_that_takes_too_long_is_given_up_and_has_failed(catalog: Catalog) -> None:
    await catalog.jobs.request(JOBS[0])
    doing = Doing()
    assert await worker(catalog, doing, job_s_max=0.01).run_due()
    assert (doing.at_once, (await state(catalog)).failures) == (0, 1)
    assert (await state(catalog)).error == "it took longer than 0.01 s and was given up"


async def test_a_wait_of_the_job_itself_is_no_limit_of_the_worker(catalog: Catalog) -> None:
    async def fail(_: ClaimedJob) -> dict[str, Any]:
        raise TimeoutError

    await catalog.jobs.request(JOBS[0])
    await worker(catalog, fail, job_s_max=60).run_due()
    assert (await state(catalog)).error == "it crashed: TimeoutError"


async def test_a_few_run_at_once_and_no_more(catalog: Catalog) -> None:
    for job_id in JOBS:
        await catalog.jobs.request(job_id)
    doing, stop = Doing(), asyncio.Event()
    running = asyncio.create_task(worker(catalog, doing).run_until(stop, grace_s=10))
    for number in range(len(JOBS)):
        if number == AT_ONCE:
            doing.may_end.set()
        await doing.begins.acquire()
    stop.set()
    await running
    assert doing.most_at_once == AT_ONCE
    assert {job.id for job in doing.begun} == set(JOBS)
    assert [(await state(catalog, job_id)).succeeded_at is not None for job_id in JOBS] == [True] * 4


async def test_told_to_stop_it_finishes_what_it_has_begun(catalog: Catalog) -> None:
    await catalog.jobs.request(JOBS[0])
    doing, stop = Doing(), asyncio.Event()
    running = asyncio.create_task(worker(catalog, doing).run_until(stop, grace_s=10))
    await doing.begins.acquire()
    stop.set()
    await catalog.jobs.request(JOBS[1])
    doing.may_end.set()
    await running
    assert [job.id for job in doing.begun] == [JOBS[0]]
    assert (await state(catalog)).outcome == {"blocks": 1}


async def test_what_takes_too_long_is_given_back_and_taken_by_another(catalog: Catalog) -> None:
    await catalog.jobs.request(JOBS[0])
    doing, stop = Doing(), asyncio.Event()
    running = asyncio.create_task(worker(catalog, doing).run_until(stop, grace_s=0))
    await doing.begins.acquire()
    stop.set()
    await running
    assert (await state(catalog)).is_running is False
    doing.may_end.set()
    assert await worker(catalog, doing).run_due()
    assert ((await state(catalog)).failures, len(doing.begun)) == (0, 2)


async def test_a_job_that_somebody_else_does_by_now_is_let_go(catalog: Catalog, clock: Clock) -> None:
    await catalog.jobs.request(JOBS[0])
    slow, quick = Doing(), Doing()
    running = asyncio.create_task(worker(catalog, slow, lease_s=0.03).run_due())
    await slow.begins.acquire()
    clock.now += 60
    quick.may_end.set()
    assert await worker(catalog, quick).run_due()
    await running
    assert slow.at_once == 0
    assert (await state(catalog)).outcome == {"blocks": 1}


async def test_a_catalog_that_fails_for_a_while_stops_nothing(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    await catalog.jobs.request(JOBS[0])
    claim, fails = catalog.jobs.claim_due, iter([True, True, False])

    async def failing(*args: Any, **options: Any) -> ClaimedJob | None:
        if next(fails, False):
            raise TransientStorageError("the disk is away")
        return await claim(*args, **options)

    monkeypatch.setattr(catalog.jobs, "claim_due", failing)
    doing, stop = Doing(), asyncio.Event()
    running = asyncio.create_task(worker(catalog, doing).run_until(stop, grace_s=10))
    await doing.begins.acquire()
    doing.may_end.set()
    stop.set()
    await running
    assert (await state(catalog)).succeeded_at is not None
