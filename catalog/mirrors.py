"""Mirrors: where to, what of, how often; how far each came with each dataset; and who runs it just now.

A mirror is run under a lease, so that of several servers over one catalog one does. A server that dies loses its lease
by time. Times are seconds since 1970. Tokens are given to those alone who run a mirror.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import orjson
from sqlalchemy import ColumnElement, Row, and_, case, delete, insert, literal, or_, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from catalog.engine import Database
from catalog.mirror_lags import note_lag
from catalog.tables import mirrored_datasets, mirrors
from opendatafabric.errors import Conflict, NotFound

ON_CHANGE: Final = "on-change"
"""The schedule of what follows every move of a head: a push is told, a pull asks."""


class Direction(StrEnum):
    """Which way a mirror copies, seen from here."""

    PUSH = "push"
    PULL = "pull"


@dataclass(frozen=True, slots=True)
class NewMirror:
    """What is asked for: ``pattern`` of aliases here for a push, names of datasets there for a pull."""

    direction: Direction
    target: str
    pattern: str
    schedule: str
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror as it stands."""

    id: int
    direction: Direction
    target: str
    pattern: str
    schedule: str
    token: str | None = field(repr=False)
    next_run_at: float
    last_run_at: float | None
    last_success_at: float | None
    last_error: str | None
    failures: int
    lease_until: float | None


@dataclass(frozen=True, slots=True)
class MirroredDataset:
    """How far a mirror came with a dataset: the head that is there, since when it is behind, what went wrong.

    ``state`` is what the kind of the mirror wants to know the next time.
    """

    head: str | None = None
    behind_since: float | None = None
    error: str | None = None
    state: Mapping[str, Any] = field(default_factory=dict)


class Mirrors:
    """The mirrors of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def add(self, new: NewMirror) -> int:
        """A mirror that is due at once; its number."""
        now = self._now()
        row = {
            "direction": new.direction.value,
            "target": new.target,
            "pattern": new.pattern,
            "schedule": new.schedule,
            "token": new.token,
            "created_at": now,
            "next_run_at": now,
            "failures": 0,
        }
        async with self._database.writing() as connection:
            statement = insert(mirrors).values(row).returning(mirrors.c.id)
            return int((await connection.execute(statement)).scalar_one())

    async def remove(self, mirror_id: int) -> None:
        """Mirror no longer; what was copied stays where it is.

        Raises:
            NotFound: there is no such mirror.
        """
        async with self._database.writing() as connection:
            gone = await connection.execute(delete(mirrors).where(mirrors.c.id == mirror_id))
        if gone.rowcount == 0:
            raise _unknown(mirror_id)

    async def list(self) -> list[Mirror]:
        """All of them, in the order they were added."""
        async with self._database.reading() as connection:
            return [_mirror(row) for row in await connection.execute(select(mirrors).order_by(mirrors.c.id))]

    async def datasets(self, mirror_id: int) -> dict[str, MirroredDataset]:
        """How far a mirror came, by the name of the dataset here."""
        query = select(mirrored_datasets).where(mirrored_datasets.c.mirror_id == mirror_id)
        async with self._database.reading() as connection:
            rows = await connection.execute(query)
            return {
                row.dataset: MirroredDataset(row.head, row.behind_since, row.error, orjson.loads(row.state))
                for row in rows
            }

    async def keep(self, mirror_id: int, dataset: str, reached: MirroredDataset) -> None:
        """Note how far a mirror came with a dataset; nothing is kept of one that was removed meanwhile."""
        values = {
            "head": reached.head,
            "behind_since": reached.behind_since,
            "error": reached.error,
            "state": orjson.dumps(dict(reached.state)).decode(),
        }
        async with self._database.writing() as connection:
            known = (await connection.execute(select(mirrors.c.id).where(mirrors.c.id == mirror_id))).first()
            if known is None:
                return
            row = {"mirror_id": mirror_id, "dataset": dataset, **values}
            statement = upsert(mirrored_datasets).values(row)
            await connection.execute(
                statement.on_conflict_do_update(index_elements=["mirror_id", "dataset"], set_=values)
            )

    async def wake(self) -> None:
        """A head moved: pushes that follow every move are due, but for those that wait after a failure."""
        following = and_(
            mirrors.c.direction == Direction.PUSH.value, mirrors.c.schedule == ON_CHANGE, mirrors.c.failures == 0
        )
        now = self._now()
        async with self._database.writing() as connection:
            await connection.execute(
                update(mirrors).where(following, mirrors.c.next_run_at > now).values(next_run_at=now)
            )

    async def next_run_at(self) -> float | None:
        """When the next mirror is due that nobody runs; ``None`` when there is none."""
        query = select(mirrors.c.next_run_at).where(self._free()).order_by(mirrors.c.next_run_at).limit(1)
        async with self._database.reading() as connection:
            found: float | None = (await connection.execute(query)).scalar()
            return found

    async def claim_due(self, owner: str, *, lease_s: float) -> Mirror | None:
        """The mirror that has waited longest beyond its time, for ``owner`` alone; ``None`` when none is due."""
        now = self._now()
        query = select(mirrors).where(self._free(), mirrors.c.next_run_at <= now)
        async with self._database.writing() as connection:
            row = (await connection.execute(query.order_by(mirrors.c.next_run_at).limit(1))).first()
            if row is None:
                return None
            await connection.execute(update(mirrors).where(mirrors.c.id == row.id).values(_lease(owner, now + lease_s)))
        return _mirror(row)

    async def claim(self, mirror_id: int, owner: str, *, lease_s: float) -> Mirror:
        """A mirror, due or not, for ``owner`` alone.

        Raises:
            NotFound: there is no such mirror.
            Conflict: somebody runs it.
        """
        async with self._database.writing() as connection:
            row = (await connection.execute(select(mirrors).where(mirrors.c.id == mirror_id))).first()
            if row is None:
                raise _unknown(mirror_id)
            now = self._now()
            if row.lease_until is not None and row.lease_until > now:
                raise Conflict(f"mirror {mirror_id} is being run", hint="odf mirror status shows how it went")
            await connection.execute(
                update(mirrors).where(mirrors.c.id == mirror_id).values(_lease(owner, now + lease_s))
            )
        return _mirror(row)

    async def renew(self, mirror_id: int, owner: str, *, lease_s: float) -> bool:
        """Keep a mirror for longer; ``False`` when it is somebody else's by now, or gone."""
        until = self._now() + lease_s
        due = case((mirrors.c.next_run_at == mirrors.c.lease_until, until), else_=mirrors.c.next_run_at)
        async with self._database.writing() as connection:
            statement = update(mirrors).where(_of(mirror_id, owner)).values(lease_until=until, next_run_at=due)
            return bool((await connection.execute(statement)).rowcount)

    async def release(self, mirror_id: int, owner: str) -> None:
        """Give a mirror back that was not run to its end: it is due again."""
        await self._finish(mirror_id, owner, {"next_run_at": self._now()})

    async def finish(self, mirror_id: int, owner: str, *, error: str | None, failures: int, next_run_at: float) -> None:
        """A run ended: give the mirror back, and say how it went and when the next one is; its lag is kept.

        A head that moved meanwhile makes it due at once, unless it failed.
        """
        now = self._now()
        woken = and_(mirrors.c.next_run_at < mirrors.c.lease_until, literal(failures == 0))
        due = case((woken, mirrors.c.next_run_at), else_=next_run_at)
        values = {"last_run_at": now, "last_error": error, "failures": failures, "next_run_at": due}
        if error is None:
            values["last_success_at"] = now
        await self._finish(mirror_id, owner, values)

    async def _finish(self, mirror_id: int, owner: str, values: Mapping[str, Any]) -> None:
        async with self._database.writing() as connection:
            given_back = {"lease_owner": None, "lease_until": None, **values}
            done = await connection.execute(update(mirrors).where(_of(mirror_id, owner)).values(given_back))
            if done.rowcount and "last_run_at" in values:
                await note_lag(connection, mirror_id, self._now())

    def _free(self) -> ColumnElement[bool]:
        return or_(mirrors.c.lease_until.is_(None), mirrors.c.lease_until <= self._now())


def _lease(owner: str, until: float) -> dict[str, Any]:
    # While it runs it is due when the lease ends: after a crash then, and a head that moves meanwhile shows as earlier.
    return {"lease_owner": owner, "lease_until": until, "next_run_at": until}


def _of(mirror_id: int, owner: str) -> ColumnElement[bool]:
    return and_(mirrors.c.id == mirror_id, mirrors.c.lease_owner == owner)


def _mirror(row: Row[Any]) -> Mirror:
    return Mirror(
        id=row.id,
        direction=Direction(row.direction),
        target=row.target,
        pattern=row.pattern,
        schedule=row.schedule,
        token=row.token,
        next_run_at=row.next_run_at,
        last_run_at=row.last_run_at,
        last_success_at=row.last_success_at,
        last_error=row.last_error,
        failures=row.failures,
        lease_until=row.lease_until,
    )


def _unknown(mirror_id: int) -> NotFound:
    return NotFound(f"there is no mirror {mirror_id}", hint="odf mirror status shows all")
