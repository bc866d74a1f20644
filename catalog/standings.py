"""How the datasets of a repository stand as a whole: how many are verified, how many fail, how far behind verifying is.

A dataset's head is the one that was noted last when it moved here; what other programs moved is known once it is
verified. Times are seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sqlalchemy import func, select

from catalog.engine import Database
from catalog.tables import datasets, reflog, reports

_RATE_S: Final = 3_600.0


class Standing(StrEnum):
    """Of a dataset, as far as this repository knows."""

    VERIFIED = "verified"
    FAILING = "failing"
    """The last report found damage: in this head, or in one before it on which it may rest."""
    STALE = "stale"
    """What was verified was an older head."""
    UNKNOWN = "unknown"
    """It was never verified, or not everything could be checked."""


@dataclass(frozen=True, slots=True)
class StandingTotals:
    """Datasets by what their last report says; ``stale`` ones are valid up to an older head.

    ``lag_s`` is how long the head has been there that waits longest to be verified, of datasets that ever were.
    ``replays`` are reports of the last hour for which steps of derivatives were repeated.
    """

    verified: int = 0
    failing: int = 0
    stale: int = 0
    unknown: int = 0
    lag_s: float = 0.0
    replays: int = 0


class Standings:
    """The totals of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def totals(self) -> StandingTotals:
        """As they are now."""
        now = self._now()
        recent = select(func.count()).where(reports.c.replayed == 1, reports.c.ended_at > now - _RATE_S)
        async with self._database.reading() as connection:
            known = [row.id for row in await connection.execute(select(datasets.c.id))]
            last = {
                row.dataset_id: row for row in await connection.execute(select(reports).order_by(reports.c.ended_at))
            }
            newest = select(func.max(reflog.c.id)).group_by(reflog.c.dataset_id)
            moves = await connection.execute(select(reflog).where(reflog.c.id.in_(newest)))
            moved = {row.dataset_id: row for row in moves}
            replays = (await connection.execute(recent)).scalar() or 0
        counts = {"verified": 0, "failing": 0, "stale": 0, "unknown": 0}
        lags = [0.0]
        for dataset_id in known:
            report, move = last.get(dataset_id), moved.get(dataset_id)
            is_stale = report is not None and move is not None and move.new_head != report.head
            counts[_standing(None if report is None else report.verdict, is_stale=is_stale)] += 1
            if is_stale and move is not None:
                lags.append(now - move.at)
        return StandingTotals(**counts, lag_s=max(lags), replays=replays)


def _standing(verdict: str | None, *, is_stale: bool) -> str:
    if verdict == "valid":
        return "stale" if is_stale else "verified"
    return "failing" if verdict == "invalid" else "unknown"
