"""Who is told when the verdict on a dataset changes, and what has not been told yet.

An address may be a secret of its owner, as those of chat services are; it is never shown whole. What is to be told is
kept until it was, or was tried often enough. Times are seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from sqlalchemy import Row, delete, insert, select, update

from catalog.engine import Database
from catalog.verification_tables import alerts, webhooks
from opendatafabric.did import DatasetId
from storage.backoff import jittered_wait_s

ATTEMPTS_MAX: Final = 12
"""With the waits between them about a day."""

FIRST_WAIT_S: Final = 10.0
WAIT_S_MAX: Final = 14_400.0


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that is told; a ``foreign`` one was set by a stranger."""

    url: str = field(repr=False)
    foreign: bool


@dataclass(frozen=True, slots=True)
class Alert:
    """Something to be told; ``attempts`` have been made, this one included."""

    id: int
    webhook: Webhook
    body: bytes
    attempts: int


class Alerts:
    """Those of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database, self._now = database, now

    async def set(self, dataset_id: DatasetId, webhook: Webhook) -> None:
        """Tell that address from now on, instead of another one."""
        row = {"dataset_id": str(dataset_id), "url": webhook.url, "foreign": int(webhook.foreign)}
        async with self._database.writing() as connection:
            await connection.execute(delete(webhooks).where(webhooks.c.dataset_id == str(dataset_id)))
            await connection.execute(insert(webhooks).values(row))

    async def remove(self, dataset_id: DatasetId) -> None:
        """Tell nobody, not even what has not been told yet."""
        async with self._database.writing() as connection:
            for table in (webhooks, alerts):
                await connection.execute(delete(table).where(table.c.dataset_id == str(dataset_id)))

    async def find(self, dataset_id: DatasetId) -> Webhook | None:
        """Who is told about a dataset."""
        query = select(webhooks).where(webhooks.c.dataset_id == str(dataset_id))
        async with self._database.reading() as connection:
            row = (await connection.execute(query)).first()
        return None if row is None else _webhook(row)

    async def tell(self, dataset_id: DatasetId, body: Mapping[str, Any]) -> bool:
        """Have it told; ``False`` when nobody wants to know."""
        if await self.find(dataset_id) is None:
            return False
        row = {"dataset_id": str(dataset_id), "body": orjson.dumps(dict(body)), "due_at": self._now(), "attempts": 0}
        async with self._database.writing() as connection:
            await connection.execute(insert(alerts).values(row))
        return True

    async def take_due(self) -> Alert | None:
        """The one that has waited longest, if one is due: nobody else gets it before the next attempt is due."""
        now = self._now()
        join = alerts.c.dataset_id == webhooks.c.dataset_id
        query = select(alerts, webhooks.c.url, webhooks.c.foreign).join(webhooks, join).where(alerts.c.due_at <= now)
        query = query.order_by(alerts.c.due_at).limit(1)
        async with self._database.reading() as connection:
            if (await connection.execute(query)).first() is None:
                return None
        async with self._database.writing() as connection:
            row = (await connection.execute(query)).first()
            if row is None:
                return None
            wait_s = jittered_wait_s(row.attempts, first_wait_s=FIRST_WAIT_S, wait_s_max=WAIT_S_MAX)
            values = {"attempts": row.attempts + 1, "due_at": now + wait_s}
            await connection.execute(update(alerts).where(alerts.c.id == row.id).values(values))
        return Alert(row.id, _webhook(row), row.body, row.attempts + 1)

    async def done(self, alert: Alert) -> None:
        """It was told, or is given up."""
        async with self._database.writing() as connection:
            await connection.execute(delete(alerts).where(alerts.c.id == alert.id))


def _webhook(row: Row[Any]) -> Webhook:
    return Webhook(row.url, bool(row.foreign))
