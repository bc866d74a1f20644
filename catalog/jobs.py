"""Work to be done for datasets: what is due, who does it just now, how it went the last time.

There is one job for each kind and dataset. It is claimed under a lease, so that of several workers one does it; a
worker that died loses its lease by time, and another one begins anew. A job with a schedule is due again and again, any
other once. Times are seconds since 1970. What the kinds do is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from sqlalchemy import ColumnElement, Row, and_, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.job_kinds import KINDS as KINDS  # noqa: PLC0414  others take them from here
from catalog.job_kinds import POLL as POLL  # noqa: PLC0414
from catalog.job_kinds import PROMOTE as PROMOTE  # noqa: PLC0414
from catalog.job_kinds import TRANSFORM as TRANSFORM  # noqa: PLC0414
from catalog.job_kinds import VERIFY as VERIFY  # noqa: PLC0414
from catalog.job_kinds import kind_for as kind_for  # noqa: PLC0414
from catalog.run_times import Runs, Schedule, due_at, wait_s
from catalog.tables import jobs, schedules, watches
from catalog.turns import HELD_S_MAX as HELD_S_MAX  # noqa: PLC0414
from catalog.turns import SETTLE_S as SETTLE_S  # noqa: PLC0414
from catalog.turns import due_jobs
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import Conflict

LOST: Final = "the worker that ran it was lost"


@dataclass(frozen=True, slots=True)
class JobId:
    """What is to be done, and for which dataset."""

    kind: str
    dataset_id: DatasetId

    def __str__(self) -> str:
        return f"{self.kind} {self.dataset_id}"


@dataclass(frozen=True, slots=True)
class JobState:
    """How a job stands. ``due_at`` is ``None`` when nothing is to be done; ``error`` is that of the last run."""

    due_at: float | None
    is_running: bool
    began_at: float | None = None
    ended_at: float | None = None
    succeeded_at: float | None = None
    failures: int = 0
    error: str | None = None
    outcome: Mapping[str, Any] | None = None
    """What the last success said."""
    run: int = 1
    """Number of the run that goes on, or that comes next; the first is 1."""
    progress: Mapping[str, Any] | None = None
    """How far the run is that goes on, as it tells itself."""


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job for ``owner`` alone; of a ``foreign`` one a stranger said that it is to be done, with ``account_id``."""

    id: JobId
    owner: str
    foreign: bool
    account_id: AccountId | None = None
    on_change: bool = False
    """Whether it follows changes."""
    said: str | None = None
    """What the chain said when its schedule was set, if that was noted."""


class Jobs:
    """The jobs of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def request(self, job_id: JobId) -> None:
        """Make a job due now, whatever its schedule says.

        Raises:
            Conflict: it is being done.
        """
        now = self._now()
        async with self._database.writing() as connection:
            row = await row_of(connection, job_id)
            if row is not None and is_leased(row, now):
                raise Conflict(f"the job '{job_id}' is being done already", hint="odf schedule list shows how it went")
            await put_row(connection, job_id, row, {"due_at": now, "wished": 1}, now=now)

    async def ask_again(self, job_id: JobId) -> None:
        """As ``ask``, for what has changed since a run that goes on has begun: then once more afterwards."""
        await self.ask(job_id)
        async with self._database.writing() as connection:
            row, now = await row_of(connection, job_id), self._now()
            if row is not None and is_leased(row, now):
                await put_row(connection, job_id, row, {"asked_at": now}, now=now)

    async def ask(self, job_id: JobId, *, foreign: bool = False, account_id: AccountId | None = None) -> int:
        """Have a job done now, whatever its schedule says; which of its runs that is. One that is due or goes on will
        do. ``foreign`` when a stranger asks, with ``account_id``."""
        now = self._now()
        values = {
            "due_at": now,
            "wished": 1,
            "foreign": int(foreign),
            "account_id": None if account_id is None else str(account_id),
        }
        async with self._database.writing() as connection:
            row = await row_of(connection, job_id)
            if row is None or not (is_leased(row, now) or (row.due_at is not None and row.due_at <= now)):
                await put_row(connection, job_id, row, values, now=now)
        return 1 if row is None else int(row.runs_ended) + 1

    async def state(self, job_id: JobId) -> JobState | None:
        """How it stands; ``None`` if there is no such job."""
        async with self._database.reading() as connection:
            row = await row_of(connection, job_id)
        return None if row is None else job_state(row, self._now())

    async def are_any(self, kinds: Collection[str]) -> bool:
        """Whether there is, now or later, something to do, or something to be watched."""
        due = select(jobs.c.kind).where(jobs.c.kind.in_(kinds), jobs.c.due_at.is_not(None))
        followed = select(schedules.c.kind).where(schedules.c.kind.in_(kinds), schedules.c.on_change == 1)
        async with self._database.reading() as connection:
            found = [(await connection.execute(query.limit(1))).first() for query in (due, followed)]
        return any(row is not None for row in found)

    async def claim_due(self, kinds: Collection[str], owner: str, *, lease_s: float) -> ClaimedJob | None:
        """The job whose turn it is (``turns``), for ``owner`` alone; ``None`` when none is due.

        One whose worker was lost is begun anew. One that loses its worker again and again waits as after failures.
        """
        while True:
            now = self._now()
            query = due_jobs(kinds, now).limit(1)
            async with self._database.reading() as connection:
                if (await connection.execute(query)).first() is None:
                    return None
            async with self._database.writing() as connection:
                row = (await connection.execute(query.with_for_update(of=jobs, skip_locked=True))).first()
                if row is None:
                    return None
                job_id = _id_of(row)
                if row.lease_owner is not None and row.failures:
                    await put_row(connection, job_id, row, _lost_again(row, job_id, now), now=now)
                    continue
                schedule = await schedule_row(connection, job_id)
                await put_row(connection, job_id, row, _claimed(row, owner, now, lease_s), now=now)
            return _claimed_job(job_id, owner, row if row.foreign else schedule, schedule)

    async def renew(self, job: ClaimedJob, *, lease_s: float) -> bool:
        """Keep a job for longer; ``False`` when it is somebody else's by now."""
        return await self._change(job, {"lease_until": self._now() + lease_s})

    async def tell_progress(self, job: ClaimedJob, progress: Mapping[str, Any]) -> None:
        """How far the run is; forgotten when it ends."""
        await self._change(job, {"progress": orjson.dumps(dict(progress)).decode()})

    async def release(self, job: ClaimedJob) -> None:
        """Give a job back that was not done: it is due still."""
        await self._change(job, _GIVEN_BACK)

    async def finish(
        self, job: ClaimedJob, *, error: str | None = None, outcome: Mapping[str, Any] | None = None
    ) -> None:
        """A run ended: say how, and give the job back until it is due again. Of somebody else's by now nothing is
        noted."""
        now = self._now()
        async with self._database.writing() as connection:
            row = await row_of(connection, job.id)
            if row is None or row.lease_owner != job.owner:
                return
            runs = _runs(row).ended(now, well=error is None)
            due = due_by(await schedule_row(connection, job.id), job.id, runs)
            if row.asked_at is not None and error is None:
                due = sooner(due, row.asked_at + SETTLE_S)
            values = {**_GIVEN_BACK, "due_at": due, "ended_at": now, "failures": runs.failures, "error": error}
            values |= {"runs_ended": row.runs_ended + 1, "foreign": 0, "account_id": None, "wished": 0}
            values |= {"runs_failed": row.runs_failed + (error is not None), "busy_s": row.busy_s + now - row.began_at}
            if error is None:
                values |= {"succeeded_at": now, "outcome": orjson.dumps(dict(outcome or {})).decode()}
            await connection.execute(update(jobs).where(_is(job.id)).values(values))

    async def _change(self, job: ClaimedJob, values: Mapping[str, Any]) -> bool:
        mine = and_(_is(job.id), jobs.c.lease_owner == job.owner)
        async with self._database.writing() as connection:
            return bool((await connection.execute(update(jobs).where(mine).values(values))).rowcount)


_GIVEN_BACK: Final[Mapping[str, Any]] = {"lease_owner": None, "lease_until": None, "progress": None}


async def row_of(connection: AsyncConnection, job_id: JobId) -> Row[Any] | None:
    """The job's row."""
    return (await connection.execute(select(jobs).where(_is(job_id)))).first()


async def schedule_row(connection: AsyncConnection, job_id: JobId) -> Row[Any] | None:
    """The row of its schedule."""
    mine = and_(schedules.c.kind == job_id.kind, schedules.c.dataset_id == str(job_id.dataset_id))
    return (await connection.execute(select(schedules).where(mine))).first()


async def put_row(
    connection: AsyncConnection, job_id: JobId, row: Row[Any] | None, values: Mapping[str, Any], *, now: float
) -> None:
    """Change the job's ``row``, or make one."""
    if row is not None:
        await connection.execute(update(jobs).where(_is(job_id)).values(values))
        return
    new = {"kind": job_id.kind, "dataset_id": str(job_id.dataset_id), "made_up_until": now, "failures": 0}
    await connection.execute(insert(jobs).values({**new, **values}))


def due_by(schedule: Row[Any] | None, job_id: JobId, runs: Runs) -> float | None:
    """When the job is due by its schedule, if it has one that is in force."""
    if schedule is None or schedule.paused_at is not None:
        return None
    due = due_at(schedule_in(schedule), str(job_id), runs)
    return None if due == math.inf else due


def schedule_in(row: Row[Any]) -> Schedule:
    """The schedule in a row."""
    return Schedule(row.cron, row.timezone, row.jitter_s, bool(row.on_change))


def is_watch_of(job_id: JobId) -> ColumnElement[bool]:
    """Which rows of ``watches`` are those of a job."""
    return and_(watches.c.kind == job_id.kind, watches.c.dataset_id == str(job_id.dataset_id))


def sooner(due: float | None, other: float) -> float:
    """The earlier of the two, if both are times."""
    return other if due is None else min(due, other)


def is_leased(row: Row[Any], now: float) -> bool:
    """Whether somebody does the job of the row."""
    return row.lease_until is not None and row.lease_until > now


def job_state(row: Row[Any], now: float) -> JobState:
    """The state in a row."""
    return JobState(
        due_at=row.due_at,
        is_running=is_leased(row, now),
        began_at=row.began_at,
        ended_at=row.ended_at,
        succeeded_at=row.succeeded_at,
        failures=row.failures,
        error=row.error,
        outcome=_plain(row.outcome),
        run=row.runs_ended + 1,
        progress=_plain(row.progress),
    )


def _plain(text: str | None) -> Mapping[str, Any] | None:
    return None if text is None else orjson.loads(text)


def _claimed_job(job_id: JobId, owner: str, wish: Row[Any] | None, schedule: Row[Any] | None) -> ClaimedJob:
    """``wish`` says who wants it."""
    if wish is None:
        return ClaimedJob(job_id, owner, foreign=False)
    account_id = None if wish.account_id is None else AccountId.from_text(wish.account_id)
    follows, said = bool(schedule and schedule.on_change), schedule.said if wish is schedule and schedule else None
    return ClaimedJob(job_id, owner, bool(wish.foreign), account_id, follows, said)


def _lost_again(row: Row[Any], job_id: JobId, now: float) -> dict[str, Any]:
    failures = row.failures + 1
    later = {"due_at": now + wait_s(str(job_id), failures), "failures": failures, "ended_at": now, "error": LOST}
    return {**_GIVEN_BACK, **later}


def _claimed(row: Row[Any], owner: str, now: float, lease_s: float) -> dict[str, Any]:
    begun = _runs(row).begun(now).made_up_until
    lost = {} if row.lease_owner is None else {"failures": row.failures + 1, "error": LOST, "ended_at": now}
    return {"lease_owner": owner, "lease_until": now + lease_s, "began_at": now, "made_up_until": begun,
            "asked_at": None, **lost}  # fmt: skip


def _runs(row: Row[Any]) -> Runs:
    return Runs(row.made_up_until, row.ended_at, row.failures)


def _id_of(row: Row[Any]) -> JobId:
    return JobId(row.kind, DatasetId.from_text(row.dataset_id))


def _is(job_id: JobId) -> ColumnElement[bool]:
    return and_(jobs.c.kind == job_id.kind, jobs.c.dataset_id == str(job_id.dataset_id))
