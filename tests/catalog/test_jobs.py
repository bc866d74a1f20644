"""Jobs are done by one worker at a time, taken over from dead ones, and their ends are noted."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.catalog import Catalog, open_catalog
from catalog.jobs import LOST, POLL, ClaimedJob, JobId, JobState
from catalog.run_times import Schedule
from catalog.sqlite_files import sqlite_url
from opendatafabric.did import AccountId, new_dataset_id
from opendatafabric.errors import Conflict
from tests.catalog.conftest import Clock

WEATHER = JobId(POLL, new_dataset_id(b"weather".ljust(32)))
MINUTELY = Schedule("* * * * *")


async def claim(catalog: Catalog, owner: str = "me") -> ClaimedJob | None:
    return await catalog.jobs.claim_due([POLL], owner, lease_s=60)


async def claimed(catalog: Catalog, owner: str = "me") -> ClaimedJob:
    """A job that must be there."""
    job = await claim(catalog, owner)
    assert job is not None
    return job


async def state(catalog: Catalog) -> JobState:
    found = await catalog.jobs.state(WEATHER)
    assert found is not None
    return found


async def test_a_job_that_was_asked_for_is_done_once(catalog: Catalog, clock: Clock) -> None:
    assert await catalog.jobs.state(WEATHER) is None
    await catalog.jobs.request(WEATHER)
    assert await catalog.jobs.are_any([POLL])
    job = await claimed(catalog)
    assert (job.id, job.foreign) == (WEATHER, False)
    assert (await state(catalog)).is_running
    clock.now += 5
    await catalog.jobs.finish(job, outcome={"blocks": 2})
    expected = JobState(None, False, clock.now - 5, clock.now, clock.now, 0, None, {"blocks": 2}, run=2)
    assert await state(catalog) == expected
    assert not await catalog.jobs.are_any([POLL])
    assert await claim(catalog) is None


async def test_workers_take_the_kinds_they_know(catalog: Catalog) -> None:
    await catalog.jobs.request(WEATHER)
    assert await catalog.jobs.claim_due(["verify"], "me", lease_s=60) is None
    assert not await catalog.jobs.are_any(["verify"])


async def test_of_many_workers_one_gets_a_job(catalog: Catalog, url: str, clock: Clock) -> None:
    await catalog.jobs.request(WEATHER)
    async with open_catalog(url, now=clock) as other:
        found = await asyncio.gather(*(claim(each, str(number)) for number in range(4) for each in (catalog, other)))
    assert len([job for job in found if job is not None]) == 1


async def test_a_job_that_is_being_done_cannot_be_asked_for(catalog: Catalog) -> None:
    await catalog.jobs.request(WEATHER)
    await claimed(catalog)
    with pytest.raises(Conflict):
        await catalog.jobs.request(WEATHER)


async def test_a_dead_workers_job_is_taken_over_when_its_lease_ends(catalog: Catalog, clock: Clock) -> None:
    await catalog.jobs.request(WEATHER)
    dead = await claimed(catalog, "dead")
    clock.now += 40
    assert await catalog.jobs.renew(dead, lease_s=60)
    clock.now += 59
    assert await claim(catalog) is None
    clock.now += 1
    await claimed(catalog)
    assert (await state(catalog)).error == LOST
    assert not await catalog.jobs.renew(dead, lease_s=60)
    await catalog.jobs.finish(dead, error="late")
    await catalog.jobs.release(dead)
    assert ((await state(catalog)).is_running, (await state(catalog)).error) == (True, LOST)


async def test_a_job_that_kills_one_worker_after_another_waits_longer_each_time(catalog: Catalog, clock: Clock) -> None:
    await catalog.jobs.request(WEATHER)
    waits: list[float] = []
    for failures in range(4):
        lost_at = clock.now
        while await claim(catalog) is None:
            clock.now += 1
        waits.append(clock.now - lost_at)
        assert (await state(catalog)).failures == failures
        clock.now += 60
    assert waits[:2] == [0, 0]
    assert 30 <= waits[2] <= 60 < waits[3] <= 120


async def test_a_job_that_is_given_back_is_due_at_once_and_no_failure(catalog: Catalog) -> None:
    await catalog.jobs.request(WEATHER)
    await catalog.jobs.release(await claimed(catalog))
    await claimed(catalog, "other")
    assert ((await state(catalog)).failures, (await state(catalog)).error) == (0, None)


async def test_a_failure_is_noted_and_the_last_success_stays(catalog: Catalog, clock: Clock) -> None:
    await catalog.schedules.set(WEATHER, MINUTELY)
    clock.now += 60
    await catalog.jobs.finish(await claimed(catalog), outcome={"blocks": 1})
    well_at = clock.now
    clock.now += 60
    await catalog.jobs.finish(await claimed(catalog), error="away")
    found = await state(catalog)
    assert (found.failures, found.error, found.succeeded_at, found.outcome) == (1, "away", well_at, {"blocks": 1})
    assert found.due_at is not None
    assert clock.now + 15 <= found.due_at <= clock.now + 30


async def test_jobs_of_strangers_schedules_are_marked(catalog: Catalog, clock: Clock) -> None:
    await catalog.schedules.set(WEATHER, MINUTELY, foreign=True)
    clock.now += 60
    assert (await claimed(catalog)).foreign


STEPS = st.lists(st.sampled_from(["claim", "finish", "fail", "release", "die", "renew", "ask", "later", "back"]))


@settings(max_examples=10)
@given(steps=STEPS)
async def test_whatever_workers_do_no_two_hold_a_job_at_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    clock = Clock()
    async with open_catalog(sqlite_url(tmp_path_factory.mktemp("jobs") / "catalog.sqlite"), now=clock) as catalog:
        await catalog.schedules.set(WEATHER, MINUTELY)
        held: tuple[ClaimedJob, float] | None = None
        for number, step in enumerate(steps):
            held = await taken(catalog, clock, step, str(number), held)


async def taken(
    catalog: Catalog, clock: Clock, step: str, owner: str, held: tuple[ClaimedJob, float] | None
) -> tuple[ClaimedJob, float] | None:
    """Take one step; who holds the job afterwards and until when."""
    lives = held is not None and held[1] > clock.now
    if step == "claim":
        job = await claim(catalog, owner)
        assert job is None or not lives
        return held if job is None else (job, clock.now + 60)
    if step in {"later", "back"}:
        clock.now += 61 if step == "later" else -30
    elif step == "ask" and not lives:
        await catalog.jobs.request(WEATHER)
    elif held is not None and step == "renew":
        assert await catalog.jobs.renew(held[0], lease_s=60)
        return held[0], clock.now + 60
    elif held is not None and step in {"finish", "fail", "release"}:
        await (catalog.jobs.release(held[0]) if step == "release" else catalog.jobs.finish(held[0], error=None))
        return None
    return held


async def test_a_run_that_waits_or_goes_on_is_the_one_that_is_asked_for(catalog: Catalog) -> None:
    assert [await catalog.jobs.ask(WEATHER) for _ in range(3)] == [1, 1, 1]
    job = await claimed(catalog)
    assert await catalog.jobs.ask(WEATHER) == 1
    await catalog.jobs.finish(job)
    assert await claim(catalog) is None
    assert await catalog.jobs.ask(WEATHER) == 2
    await catalog.jobs.finish(await claimed(catalog), error="no luck")
    assert (await state(catalog)).run == 3


async def test_a_job_on_a_schedule_is_done_sooner_when_it_is_asked_for(catalog: Catalog, clock: Clock) -> None:
    await catalog.schedules.set(WEATHER, MINUTELY)
    assert await catalog.jobs.ask(WEATHER) == 1
    assert (await state(catalog)).due_at == clock.now


async def test_progress_is_told_by_whoever_does_the_job_and_forgotten_at_its_end(catalog: Catalog) -> None:
    await catalog.jobs.request(WEATHER)
    job = await claimed(catalog)
    await catalog.jobs.tell_progress(job, {"blocks": {"done": 1, "total": 2}})
    await catalog.jobs.tell_progress(ClaimedJob(WEATHER, "somebody else", False), {"blocks": {"done": 9, "total": 9}})
    assert (await state(catalog)).progress == {"blocks": {"done": 1, "total": 2}}
    await catalog.jobs.finish(job)
    assert (await state(catalog)).progress is None


async def test_who_asked_counts_for_that_run_and_for_whoever_takes_it_over(catalog: Catalog, clock: Clock) -> None:
    await catalog.schedules.set(WEATHER, MINUTELY)
    alice = AccountId(str(new_dataset_id(b"alice".ljust(32))))
    await catalog.jobs.ask(WEATHER, foreign=True, account_id=alice)
    await claimed(catalog, "dead")
    clock.now += 61
    job = await claimed(catalog)
    assert (job.foreign, job.account_id) == (True, alice)
    await catalog.jobs.finish(job)
    clock.now += 61
    job = await claimed(catalog)
    assert (job.foreign, job.account_id) == (False, None)
