"""Schedules make jobs due; pausing, removing and setting them anew does what it says."""

from __future__ import annotations

import pytest

from catalog.catalog import Catalog
from catalog.jobs import POLL, JobId
from catalog.run_times import Schedule
from opendatafabric.did import new_dataset_id
from opendatafabric.errors import MalformedInput, NotFound
from tests.catalog.conftest import Clock

WEATHER = JobId(POLL, new_dataset_id(b"weather".ljust(32)))
AIRPORTS = JobId(POLL, new_dataset_id(b"airports".ljust(32)))
HOURLY = Schedule("0 * * * *")


async def is_due(catalog: Catalog) -> bool:
    """Whether a worker would find something to do, which is then done."""
    job = await catalog.jobs.claim_due([POLL], "me", lease_s=60)
    if job is not None:
        await catalog.jobs.finish(job)
    return job is not None


async def test_a_schedule_waits_for_its_next_strike(catalog: Catalog, clock: Clock) -> None:
    await catalog.schedules.set(WEATHER, HOURLY)
    found = await catalog.schedules.find(WEATHER)
    assert found is not None
    assert (found.schedule, found.paused_at, found.foreign) == (HOURLY, None, False)
    assert found.state.due_at == clock.now - clock.now % 3_600 + 3_600
    assert not await is_due(catalog)
    clock.now = found.state.due_at
    assert await is_due(catalog)
    assert not await is_due(catalog)


async def test_a_new_schedule_stands_for_the_old_one(catalog: Catalog, clock: Clock) -> None:
    await catalog.schedules.set(WEATHER, HOURLY)
    await catalog.schedules.set(WEATHER, Schedule("30 4 * * *", "Europe/Berlin", 60.0), foreign=True)
    (found,) = await catalog.schedules.list(POLL)
    assert (found.schedule.cron, found.schedule.timezone, found.schedule.jitter_s) == (
        "30 4 * * *",
        "Europe/Berlin",
        60,
    )
    assert found.foreign
    clock.now += 3_600
    assert not await is_due(catalog)


@pytest.mark.parametrize(
    "schedule",
    [Schedule("often"), Schedule("0 0 31 2 *"), Schedule("0 * * * *", "Mars/Olympus"), Schedule("0 * * * *", "UTC", -1),
     Schedule("0 * * * *", "UTC", 86_401), Schedule("0 * * * *", "UTC", float("nan")), Schedule("0 0 * * * *")],
)  # fmt: skip
async def test_what_is_no_schedule_is_refused_and_the_old_one_stays(catalog: Catalog, schedule: Schedule) -> None:
    await catalog.schedules.set(WEATHER, HOURLY)
    with pytest.raises(MalformedInput):
        await catalog.schedules.set(WEATHER, schedule)
    assert [each.schedule for each in await catalog.schedules.list(POLL)] == [HOURLY]


async def test_what_was_missed_while_it_was_paused_is_not_made_up(catalog: Catalog, clock: Clock) -> None:
    await catalog.schedules.set(WEATHER, HOURLY)
    await catalog.schedules.pause(WEATHER)
    clock.now += 86_400
    assert not await is_due(catalog)
    await catalog.schedules.resume(WEATHER)
    assert not await is_due(catalog)
    clock.now += 3_600
    assert await is_due(catalog)


async def test_a_job_that_is_asked_for_is_done_once_though_it_is_paused(catalog: Catalog, clock: Clock) -> None:
    await catalog.schedules.set(WEATHER, HOURLY)
    await catalog.schedules.pause(WEATHER)
    await catalog.jobs.request(WEATHER)
    assert await is_due(catalog)
    clock.now += 86_400
    assert not await is_due(catalog)


async def test_setting_a_schedule_forgets_failures(catalog: Catalog, clock: Clock) -> None:
    await catalog.schedules.set(WEATHER, HOURLY)
    clock.now += 3_600
    job = await catalog.jobs.claim_due([POLL], "me", lease_s=60)
    assert job is not None
    await catalog.jobs.finish(job, error="away")
    await catalog.schedules.set(WEATHER, HOURLY)
    found = await catalog.schedules.find(WEATHER)
    assert found is not None
    assert (found.state.failures, found.state.error) == (0, "away")
    assert found.state.due_at is not None
    assert found.state.due_at % 3_600 == 0


async def test_a_removed_schedule_is_gone_and_its_job_is_due_no_more(catalog: Catalog, clock: Clock) -> None:
    await catalog.schedules.set(WEATHER, HOURLY)
    await catalog.schedules.remove(WEATHER)
    clock.now += 3_600
    assert await catalog.schedules.list(POLL) == []
    assert await catalog.schedules.find(WEATHER) is None
    assert not await is_due(catalog)


async def test_a_schedule_that_is_removed_during_a_run_brings_no_other(catalog: Catalog, clock: Clock) -> None:
    await catalog.schedules.set(WEATHER, HOURLY)
    clock.now += 3_600
    job = await catalog.jobs.claim_due([POLL], "me", lease_s=60)
    assert job is not None
    await catalog.schedules.remove(WEATHER)
    await catalog.jobs.finish(job)
    clock.now += 86_400
    assert not await is_due(catalog)


async def test_what_is_due_next_is_listed_first_and_what_is_paused_last(catalog: Catalog) -> None:
    await catalog.schedules.set(AIRPORTS, Schedule("0 0 1 1 *"))
    await catalog.schedules.set(WEATHER, HOURLY)
    assert [each.id for each in await catalog.schedules.list(POLL)] == [WEATHER, AIRPORTS]
    await catalog.schedules.pause(WEATHER)
    assert [each.id for each in await catalog.schedules.list(POLL)] == [AIRPORTS, WEATHER]
    assert await catalog.schedules.list("verify") == []


async def test_a_schedule_that_is_not_there_is_not_found(catalog: Catalog) -> None:
    for act in (catalog.schedules.remove, catalog.schedules.pause, catalog.schedules.resume):
        with pytest.raises(NotFound):
            await act(WEATHER)
