"""How far behind mirrors were, run by run, in few samples: both ends of a time in which nothing changed say all of it.

Times are seconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.mirror_lag_tables import mirror_lags
from catalog.tables import mirrored_datasets

SAMPLES_MAX: Final = 500
"""Kept of each mirror: three weeks of one that fails all the time, years of one that does not."""


@dataclass(frozen=True, slots=True)
class LagSample:
    """For how long, at the end of a run, the dataset had been behind that was longest; 0 when all were up to date."""

    at: float
    lag_s: float


class MirrorLags:
    """Those of one catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, mirror_id: int) -> list[LagSample]:
        """What is kept of a mirror, oldest first."""
        async with self._database.reading() as connection:
            return (await _newest(connection, mirror_id, count=SAMPLES_MAX))[::-1]


async def note_lag(connection: AsyncConnection, mirror_id: int, now: float) -> None:
    """A run ended, in a transaction that is under way."""
    mine = mirrored_datasets.c.mirror_id == mirror_id
    query = select(func.min(mirrored_datasets.c.behind_since)).where(mine)
    behind_since = (await connection.execute(query)).scalar()
    sample = LagSample(now, 0.0 if behind_since is None else max(0.0, now - behind_since))
    last = await _newest(connection, mirror_id, count=2)
    if last and (last[0].at >= now or [each.lag_s for each in last] == [sample.lag_s] * 2):
        await connection.execute(delete(mirror_lags).where(_of(mirror_id), mirror_lags.c.at >= last[0].at))
    await connection.execute(insert(mirror_lags).values(mirror_id=mirror_id, at=sample.at, lag_s=sample.lag_s))
    await _forget_old_ones(connection, mirror_id)


async def _newest(connection: AsyncConnection, mirror_id: int, *, count: int) -> list[LagSample]:
    query = select(mirror_lags).where(_of(mirror_id)).order_by(mirror_lags.c.at.desc()).limit(count)
    return [LagSample(row.at, row.lag_s) for row in await connection.execute(query)]


async def _forget_old_ones(connection: AsyncConnection, mirror_id: int) -> None:
    query = (
        select(mirror_lags.c.at).where(_of(mirror_id)).order_by(mirror_lags.c.at.desc()).offset(SAMPLES_MAX).limit(1)
    )
    too_old = (await connection.execute(query)).scalar()
    if too_old is not None:
        await connection.execute(delete(mirror_lags).where(_of(mirror_id), mirror_lags.c.at <= too_old))


def _of(mirror_id: int) -> ColumnElement[bool]:
    return mirror_lags.c.mirror_id == mirror_id
