"""What ingests with an idempotency key were about to commit: written before, looked up when the key comes again.

A plan says nothing about whether its commit happened. The chain does: the hash of the block that would be its head is
in the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import delete, insert, select

from catalog.engine import Database
from catalog.tables import ingest_plans
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.multihash import Multihash


@dataclass(frozen=True, slots=True)
class IngestKey:
    """A key as one account gave it for one dataset: those of others are not met."""

    dataset_id: DatasetId
    account_id: AccountId
    key: str

    def columns(self) -> dict[str, str]:
        """As in the table."""
        return {"dataset_id": str(self.dataset_id), "account_id": str(self.account_id), "key": self.key}


@dataclass(frozen=True, slots=True)
class IngestPlan:
    """``fingerprint`` tells requests apart; ``answer`` is the one to give once ``new_head`` is on the chain."""

    fingerprint: str
    new_head: Multihash
    answer: Mapping[str, Any]


class IngestPlans:
    """The plans of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def of(self, key: IngestKey) -> list[IngestPlan]:
        """Every plan under that key, oldest first: tries that were cut off leave one each."""
        query = select(ingest_plans).filter_by(**key.columns()).order_by(ingest_plans.c.id)
        async with self._database.reading() as connection:
            rows = await connection.execute(query)
            return [IngestPlan(row.fingerprint, Multihash.from_text(row.new_head), orjson.loads(row.answer))
                    for row in rows]  # fmt: skip

    async def add(self, key: IngestKey, plan: IngestPlan) -> None:
        """Write a plan down; when this returns it is safe."""
        row = {
            **key.columns(),
            "fingerprint": plan.fingerprint,
            "new_head": str(plan.new_head),
            "answer": orjson.dumps(plan.answer).decode(),
            "planned_at": self._now(),
        }
        async with self._database.writing() as connection:
            await connection.execute(insert(ingest_plans).values(row))

    async def forget(self, *, older_than_s: float) -> None:
        """Forget plans so old that nobody repeats their request any more."""
        old = ingest_plans.c.planned_at < self._now() - older_than_s
        async with self._database.writing() as connection:
            await connection.execute(delete(ingest_plans).where(old))
