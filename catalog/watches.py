"""Which datasets the jobs watch whose schedules follow changes, and what becomes due when a head moves.

That a head moved is told by whoever moved it, and found out by whoever looks at all that is watched: the head that was
seen last is kept, so that the same move counts once, whoever tells of it, and none is lost for ever. What heads are is
not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from sqlalchemy import ColumnElement, and_, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.jobs import SETTLE_S, TRANSFORM, JobId, is_leased, is_watch_of, put_row, row_of, schedule_row, sooner
from catalog.tables import schedules, watches
from opendatafabric.did import DatasetId
from opendatafabric.multihash import Multihash


class Watches:
    """What is watched in one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def set(self, job_id: JobId, heads: Mapping[DatasetId, Multihash | None]) -> None:
        """Have a job watch these datasets, and no others any more; it knows of these heads."""
        row = {"kind": job_id.kind, "dataset_id": str(job_id.dataset_id)}
        rows = [{**row, "watched_id": str(each), "seen_head": _text(head)} for each, head in heads.items()]
        async with self._database.writing() as connection:
            await connection.execute(delete(watches).where(is_watch_of(job_id)))
            if rows:
                await connection.execute(insert(watches), rows)

    async def moved(
        self,
        dataset_id: DatasetId,
        head: Multihash | None,
        *,
        by: JobId | None = None,
        settle_s: float = SETTLE_S,
    ) -> None:
        """A head is there now: every job that watches the dataset and did not know it is due in ``settle_s``, but for
        the one that moved it.

        Derivatives of derivatives are due with them: each waits for its inputs (``Jobs.claim_due``).
        """
        is_news = and_(watches.c.watched_id == str(dataset_id), _differs(head))
        async with self._database.reading() as connection:
            if (await connection.execute(select(watches.c.kind).where(is_news).limit(1))).first() is None:
                return
        async with self._database.writing() as connection:
            rows = (await connection.execute(select(watches).where(is_news))).all()
            await connection.execute(update(watches).where(is_news).values(seen_head=_text(head)))
            told = {JobId(row.kind, DatasetId.from_text(row.dataset_id)) for row in rows} - {by}
            for job_id in [*told, *await _derived_from(connection, told)]:
                await _ask(connection, job_id, self._now(), settle_s)

    async def watched(self) -> dict[DatasetId, frozenset[str | None]]:
        """Every dataset that is watched, with the heads that were seen last."""
        query = select(watches.c.watched_id, watches.c.seen_head).join(schedules, _IS_SCHEDULED).distinct()
        seen: dict[DatasetId, frozenset[str | None]] = {}
        async with self._database.reading() as connection:
            for row in await connection.execute(query.where(schedules.c.paused_at.is_(None))):
                dataset_id = DatasetId.from_text(row.watched_id)
                seen[dataset_id] = seen.get(dataset_id, frozenset()) | {row.seen_head}
        return seen


_IS_SCHEDULED: Final = and_(watches.c.kind == schedules.c.kind, watches.c.dataset_id == schedules.c.dataset_id)


async def _derived_from(connection: AsyncConnection, told: Collection[JobId]) -> list[JobId]:
    """What is computed from datasets whose computing is asked for, and from those, as far as it follows changes."""
    found: list[JobId] = []
    begun = set(told)
    waiting = [each for each in told if each.kind == TRANSFORM]
    while waiting:
        job_id = waiting.pop()
        if not await _follows_changes(connection, job_id):
            continue
        is_derived = and_(watches.c.kind == TRANSFORM, watches.c.watched_id == str(job_id.dataset_id))
        for row in (await connection.execute(select(watches.c.dataset_id).where(is_derived))).all():
            derived = JobId(TRANSFORM, DatasetId.from_text(row.dataset_id))
            if derived not in begun:
                begun.add(derived)
                found.append(derived)
                waiting.append(derived)
    return found


async def _ask(connection: AsyncConnection, job_id: JobId, now: float, settle_s: float) -> None:
    """Have a job done soon; while it is being done, once more afterwards. One that fails is tried again in its time."""
    row = await row_of(connection, job_id)
    if row is None or not await _follows_changes(connection, job_id):
        return
    # Whoever was given the job may end it yet, even when its time is over: what it did then is from before.
    values = {} if row.lease_owner is None else {"asked_at": now}
    if not is_leased(row, now) and (not row.failures or row.due_at is None):
        values["due_at"] = sooner(row.due_at, now + settle_s)
    if values:
        await put_row(connection, job_id, row, values, now=now)


async def _follows_changes(connection: AsyncConnection, job_id: JobId) -> bool:
    schedule = await schedule_row(connection, job_id)
    return schedule is not None and bool(schedule.on_change) and schedule.paused_at is None


def _differs(head: Multihash | None) -> ColumnElement[bool]:
    if head is None:
        return watches.c.seen_head.is_not(None)
    return or_(watches.c.seen_head.is_(None), watches.c.seen_head != str(head))


def _text(head: Multihash | None) -> str | None:
    return None if head is None else str(head)
