"""Attempts that all servers over one catalog count together: each key has a budget, as in memory, but in a table.

What is counted is kept as a hash: names that people type may be passwords. Keys whose budget is full again are removed
with the next attempt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.sqlite import insert as upsert

from catalog.attempt_tables import attempts
from catalog.budgets import Budget, Taken, take
from catalog.engine import Database


class Attempts:
    """The attempts of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def take(self, kind: str, key: str, budget: Budget, cost: int = 1) -> Taken:
        """Take ``cost`` from the budget of ``key``; a negative one gives back what was taken in vain."""
        name, now = hashlib.sha3_256(f"{kind}\n{key}".encode(errors="replace")).digest(), self._now()
        async with self._database.writing() as connection:
            await connection.execute(delete(attempts).where(attempts.c.full_at <= now))
            known = (await connection.execute(select(attempts.c.full_at).where(attempts.c.key == name))).scalar()
            taken, full_at = take(budget, now if known is None else known, now, cost)
            row = upsert(attempts).values(key=name, full_at=full_at)
            await connection.execute(
                row.on_conflict_do_update(index_elements=["key"], set_={"full_at": row.excluded.full_at})
            )
        return taken

    async def count(self) -> int:
        """How many keys are counted now."""
        async with self._database.reading() as connection:
            return (await connection.execute(select(func.count()).select_from(attempts))).scalar_one()
