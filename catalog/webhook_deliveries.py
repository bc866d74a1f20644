"""How telling webhooks went: the last attempts of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.webhook_schedule import Attempt
from catalog.webhook_tables import webhook_deliveries, webhooks
from opendatafabric.errors import NotFound
from opendatafabric.server_limits import WEBHOOK_DELIVERIES_KEPT


@dataclass(frozen=True, slots=True)
class Told:
    """What was told: an event by its number, or that somebody tries, for the how-manieth time; about which dataset."""

    event_id: int | None
    type: str
    subject: str | None
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Delivery:
    """One attempt; ``next_at`` when the next one is due, if there is to be one."""

    id: int
    told: Told
    attempt: Attempt
    next_at: float | None


class WebhookDeliveries:
    """Those of one catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, webhook_id: str, told: Told, attempt: Attempt) -> Delivery:
        """An attempt that somebody asked for was made."""
        async with self._database.writing() as connection:
            return await note_delivery(connection, webhook_id, told, attempt, None)

    async def of(self, webhook_id: str) -> list[Delivery]:
        """The last ones of a webhook, the newest first."""
        query = select(webhook_deliveries).where(webhook_deliveries.c.webhook_id == webhook_id)
        async with self._database.reading() as connection:
            return [_delivery(row) for row in await connection.execute(query.order_by(webhook_deliveries.c.id.desc()))]

    async def find(self, webhook_id: str, number: int) -> Delivery:
        """One of them; ``NotFound`` if there is none, or no longer."""
        found = [each for each in await self.of(webhook_id) if each.id == number]
        if not found:
            raise NotFound("there is no such delivery", hint=f"the last {WEBHOOK_DELIVERIES_KEPT} are kept")
        return found[0]


async def note_delivery(
    connection: AsyncConnection, webhook_id: str, told: Told, attempt: Attempt, next_at: float | None
) -> Delivery:
    """The same in a transaction that is under way; nothing is kept of a webhook that is gone."""
    row = {
        "webhook_id": webhook_id,
        "event_id": told.event_id,
        "type": told.type,
        "subject": told.subject,
        "attempt": told.attempt,
        "at": attempt.at,
        "duration_s": attempt.duration_s,
        "status": attempt.status,
        "failure": attempt.failure,
        "next_at": next_at,
    }
    if (await connection.execute(select(webhooks.c.id).where(webhooks.c.id == webhook_id))).first() is None:
        return Delivery(0, told, attempt, next_at)
    made = await connection.execute(insert(webhook_deliveries).values(row))
    own = webhook_deliveries.c.webhook_id == webhook_id
    kept = select(webhook_deliveries.c.id).where(own).order_by(webhook_deliveries.c.id.desc())
    old = webhook_deliveries.c.id.not_in(kept.limit(WEBHOOK_DELIVERIES_KEPT))
    await connection.execute(delete(webhook_deliveries).where(own, old))
    return Delivery(made.inserted_primary_key[0] if made.inserted_primary_key else 0, told, attempt, next_at)


def _delivery(row: Row[Any]) -> Delivery:
    told = Told(row.event_id, row.type, row.subject, row.attempt)
    attempt = Attempt(row.at, row.duration_s, row.status, row.failure)
    return Delivery(row.id, told, attempt, row.next_at)
