"""How all jobs of a kind stand together, for those who watch the workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import case, func, select

from catalog.engine import Database
from catalog.job_kinds import KINDS
from catalog.tables import jobs


@dataclass(frozen=True, slots=True)
class JobTotal:
    """Of one kind; ``runs``, ``runs_failed`` and ``busy_s`` since there are such jobs."""

    waiting: int = 0
    """Due, and nobody does them."""
    running: int = 0
    failing: int = 0
    """Whose last run failed."""
    lag_s: float = 0.0
    """For how long the one has been due that waits longest."""
    runs: int = 0
    runs_failed: int = 0
    busy_s: float = 0.0


class JobTotals:
    """The totals of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def by_kind(self) -> Mapping[str, JobTotal]:
        """Of every kind, also of those without a job."""
        now = self._now()
        is_running = jobs.c.lease_until > now
        waits = func.coalesce(~is_running, True) & (jobs.c.due_at <= now)
        query = select(
            jobs.c.kind,
            func.sum(case((waits, 1), else_=0)),
            func.sum(case((is_running, 1), else_=0)),
            func.sum(case((jobs.c.failures > 0, 1), else_=0)),
            func.max(case((waits, now - jobs.c.due_at), else_=0.0)),
            func.sum(jobs.c.runs_ended),
            func.sum(jobs.c.runs_failed),
            func.sum(jobs.c.busy_s),
        ).group_by(jobs.c.kind)
        async with self._database.reading() as connection:
            found = {row[0]: JobTotal(*row[1:]) for row in await connection.execute(query)}
        return {kind: found.get(kind, JobTotal()) for kind in KINDS}
