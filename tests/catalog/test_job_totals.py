"""All jobs of a kind in a few numbers."""

from __future__ import annotations

from catalog.catalog import Catalog
from catalog.job_totals import JobTotal
from catalog.jobs import KINDS, VERIFY, JobId
from catalog.run_times import Schedule
from opendatafabric.did import new_dataset_id
from tests.catalog.conftest import Clock

MINUTELY = Schedule("* * * * *")


async def test_without_jobs_everything_is_nothing(catalog: Catalog) -> None:
    assert await catalog.job_totals.by_kind() == dict.fromkeys(KINDS, JobTotal())


async def test_what_waits_runs_failed_and_how_long_it_took(catalog: Catalog, clock: Clock) -> None:
    for number in range(4):
        await catalog.schedules.set(JobId(VERIFY, new_dataset_id(bytes([number]) * 32)), MINUTELY)
    clock.now += 60 - clock.now % 60
    for error in (None, "it does not hold"):
        ended = await catalog.jobs.claim_due([VERIFY], "me", lease_s=60)
        assert ended is not None
        clock.now += 5
        await catalog.jobs.finish(ended, error=error)
    assert await catalog.jobs.claim_due([VERIFY], "me", lease_s=60) is not None
    found = (await catalog.job_totals.by_kind())[VERIFY]
    assert found == JobTotal(waiting=1, running=1, failing=1, lag_s=10, runs=2, runs_failed=1, busy_s=10)
    clock.now += 60
    found = (await catalog.job_totals.by_kind())[VERIFY]
    assert (found.running, found.waiting) == (0, 4)
