"""What is to be done again and again for which dataset, and when; how it stands is a matter of ``jobs``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row, and_, delete, insert, select, update

from catalog.engine import Database
from catalog.jobs import JobId, JobState, due_by, is_watch_of, job_state, put_row, row_of, schedule_in, schedule_row
from catalog.run_times import Runs, Schedule, due_at
from catalog.tables import jobs, schedules, watches
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import MalformedInput, NotFound
from opendatafabric.limits import SCHEDULE_JITTER_S_MAX

_JOIN: Final = and_(schedules.c.kind == jobs.c.kind, schedules.c.dataset_id == jobs.c.dataset_id)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A schedule and how its job stands; a ``foreign`` one was set by a stranger."""

    id: JobId
    schedule: Schedule
    foreign: bool
    paused_at: float | None
    state: JobState


class Schedules:
    """The schedules of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def set(
        self,
        job_id: JobId,
        schedule: Schedule,
        *,
        foreign: bool = False,
        account_id: AccountId | None = None,
        said: str | None = None,
    ) -> None:
        """Do the job by that schedule from now on, instead of by the one it had; it is paused no longer.

        One that follows changes is due at once: nobody knows what changed before. ``account_id`` is whose rights a
        ``foreign`` job has, ``said`` for what they were given.

        Raises:
            MalformedInput: no such schedule.
        """
        if schedule.cron is None and not schedule.on_change:
            raise MalformedInput("a schedule needs times, or follows changes", hint='"*/5 * * * *", or on change')
        if not 0 <= schedule.jitter_s <= SCHEDULE_JITTER_S_MAX:
            raise MalformedInput("the jitter of a schedule is too long", expected=f"at most {SCHEDULE_JITTER_S_MAX} s")
        due_at(schedule, str(job_id), Runs(self._now()))
        row = {"kind": job_id.kind, "dataset_id": str(job_id.dataset_id), "cron": schedule.cron,
               "timezone": schedule.timezone, "jitter_s": schedule.jitter_s, "foreign": int(foreign),
               "on_change": int(schedule.on_change),
               "account_id": None if account_id is None else str(account_id), "said": said}  # fmt: skip
        async with self._database.writing() as connection:
            await connection.execute(delete(schedules).where(_is(job_id)))
            await connection.execute(insert(schedules).values(row))
            if not schedule.on_change:
                await connection.execute(delete(watches).where(is_watch_of(job_id)))
            await self._begin(connection, job_id)

    async def remove(self, job_id: JobId) -> None:
        """Do it no more; a run that has begun goes on to its end.

        Raises:
            NotFound: there is no schedule.
        """
        async with self._database.writing() as connection:
            gone = await connection.execute(delete(schedules).where(_is(job_id)))
            if gone.rowcount == 0:
                raise unscheduled(job_id)
            await connection.execute(delete(watches).where(is_watch_of(job_id)))
            await put_row(connection, job_id, await row_of(connection, job_id), {"due_at": None}, now=self._now())

    async def forget(self, dataset_id: DatasetId) -> bool:
        """Do nothing for a dataset any more: it is gone. Whether there was anything."""
        async with self._database.writing() as connection:
            gone = [await connection.execute(delete(each).where(each.c.dataset_id == str(dataset_id)))
                    for each in (schedules, jobs, watches)]  # fmt: skip
        return any(each.rowcount for each in gone)

    async def pause(self, job_id: JobId) -> None:
        """Do not do it until ``resume``; errors as ``remove``."""
        async with self._database.writing() as connection:
            await self._set_paused(connection, job_id, self._now())
            await put_row(connection, job_id, await row_of(connection, job_id), {"due_at": None}, now=self._now())

    async def resume(self, job_id: JobId) -> None:
        """Do it again, from the next time on: what was missed meanwhile is not made up; errors as ``remove``."""
        async with self._database.writing() as connection:
            await self._set_paused(connection, job_id, None)
            await self._begin(connection, job_id)

    async def revive(self, dataset_id: DatasetId) -> None:
        """Do again what is scheduled for a dataset that is back, but for what is paused; as ``resume``."""
        is_active = and_(schedules.c.dataset_id == str(dataset_id), schedules.c.paused_at.is_(None))
        async with self._database.writing() as connection:
            for kind in (await connection.execute(select(schedules.c.kind).where(is_active))).scalars().all():
                await self._begin(connection, JobId(kind, dataset_id))

    async def find(self, job_id: JobId) -> Scheduled | None:
        """The schedule of a job, if it has one."""
        query = select(schedules, jobs).join(jobs, _JOIN).where(_is(job_id))
        async with self._database.reading() as connection:
            row = (await connection.execute(query)).first()
        return None if row is None else self._scheduled(row)

    async def list(self, kind: str) -> list[Scheduled]:
        """All of a kind: what is due next comes first, what is paused last."""
        query = select(schedules, jobs).join(jobs, _JOIN).where(schedules.c.kind == kind)
        query = query.order_by(jobs.c.due_at.is_(None), jobs.c.due_at, schedules.c.dataset_id)
        async with self._database.reading() as connection:
            return [self._scheduled(row) for row in await connection.execute(query)]

    async def _begin(self, connection: Any, job_id: JobId) -> None:
        """Due by the schedule from now on, as if nothing had ever failed."""
        row, now = await row_of(connection, job_id), self._now()
        runs = Runs(now if row is None else row.made_up_until).begun(now)
        schedule = await schedule_row(connection, job_id)
        due = now if schedule is not None and schedule.on_change else due_by(schedule, job_id, runs)
        values = {"due_at": due, "made_up_until": runs.made_up_until, "failures": 0}
        await put_row(connection, job_id, row, values, now=now)

    async def _set_paused(self, connection: Any, job_id: JobId, at: float | None) -> None:
        changed = await connection.execute(update(schedules).where(_is(job_id)).values(paused_at=at))
        if changed.rowcount == 0:
            raise unscheduled(job_id)

    def _scheduled(self, row: Row[Any]) -> Scheduled:
        job_id = JobId(row.kind, DatasetId.from_text(row.dataset_id))
        return Scheduled(job_id, schedule_in(row), bool(row.foreign), row.paused_at, job_state(row, self._now()))


def unscheduled(job_id: JobId) -> NotFound:
    """There is no schedule of that job."""
    return NotFound(f"the job '{job_id}' has no schedule", hint="odf schedule set REF CRON")


def _is(job_id: JobId) -> Any:
    return and_(schedules.c.kind == job_id.kind, schedules.c.dataset_id == str(job_id.dataset_id))
