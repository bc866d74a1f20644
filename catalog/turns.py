"""Whose turn it is among the jobs that are due: inputs before what is computed from them, and accounts in turn.

The account of a job is the owner of its dataset, or nobody's where the catalog knows none. First comes the account for
which least is being done, then the one that has waited longest since something was begun for it. Within an account, a
job counts from when it was due: one that somebody waits for as if it had been so for longer, a verification for
shorter, since it makes no data. So nothing waits for ever.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, Subquery, and_, case, exists, func, or_, select

from catalog.job_kinds import TRANSFORM, VERIFY
from catalog.tables import datasets, jobs, watches

SETTLE_S: Final = 1.0
"""What changes within so long is looked at in one run."""

HELD_S_MAX: Final = 300.0
"""A job whose input is about to be computed waits for that so long: inputs may wait for each other."""

WISHED_S: Final = 3_600.0
"""A job that somebody waits for comes before those of the same account that have been due for less than that."""

VERIFY_WAITS_S: Final = 600.0
"""A verification comes after what makes data, unless it has been due for longer than that."""


def due_jobs(kinds: Collection[str], now: float) -> Select[Any]:
    """Jobs of these kinds that somebody may begin now, in their turn."""
    free = or_(jobs.c.lease_until.is_(None), jobs.c.lease_until <= now)
    owned = jobs.outerjoin(datasets, datasets.c.id == jobs.c.dataset_id)
    served = _served(now)
    query = select(jobs).select_from(owned.join(served, served.c.account == _account()))
    query = query.where(jobs.c.kind.in_(kinds), jobs.c.due_at <= now, free, _inputs_are_done(now))
    return query.order_by(served.c.running, served.c.last_began_at, _due_as_if(), jobs.c.kind, jobs.c.dataset_id)


def _account() -> ColumnElement[str]:
    return func.coalesce(datasets.c.owner_id, "")


def _served(now: float) -> Subquery:
    """How much is being done for each account, and when something was last begun for it."""
    running = func.sum(case((jobs.c.lease_until > now, 1), else_=0)).label("running")
    last_began_at = func.max(func.coalesce(jobs.c.began_at, 0)).label("last_began_at")
    owned = jobs.outerjoin(datasets, datasets.c.id == jobs.c.dataset_id)
    query = select(_account().label("account"), running, last_began_at).select_from(owned)
    return query.group_by(_account()).subquery()


def _due_as_if() -> ColumnElement[float]:
    later_s = case((jobs.c.wished == 1, -WISHED_S), (jobs.c.kind == VERIFY, VERIFY_WAITS_S), else_=0.0)
    return jobs.c.due_at + later_s


def _inputs_are_done(now: float) -> ColumnElement[bool]:
    """No dataset that the job watches is being computed or about to be; one whose computing fails is not waited for."""
    upstream = jobs.alias()
    is_watched = and_(watches.c.kind == jobs.c.kind, watches.c.dataset_id == jobs.c.dataset_id)
    is_input = and_(upstream.c.kind == TRANSFORM, upstream.c.dataset_id == watches.c.watched_id)
    is_other = or_(jobs.c.kind != TRANSFORM, jobs.c.dataset_id != watches.c.watched_id)
    is_coming = and_(upstream.c.failures == 0, or_(upstream.c.due_at <= now + SETTLE_S, upstream.c.lease_until > now))
    found = select(watches.c.kind).join(upstream, is_input).where(is_watched, is_other, is_coming)
    return or_(~exists(found.correlate(jobs)), jobs.c.due_at <= now - HELD_S_MAX)
