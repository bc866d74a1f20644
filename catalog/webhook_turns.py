"""Which webhooks have something to be told, and who tells them just now.

A webhook is told under a lease, so that of several servers over one catalog one does; a server that dies loses its
lease by time. How far each was told is written down with the attempt: what a server that died told last may be told
once more, and nothing is left out. Times are seconds since 1970.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, and_, or_, select, update

from catalog.engine import Database
from catalog.tables import accounts
from catalog.webhook_deliveries import Told, note_delivery
from catalog.webhook_schedule import Attempt, Standing, WebhookState
from catalog.webhook_tables import webhooks
from catalog.webhooks import Webhook, webhook_of
from opendatafabric.server_limits import WEBHOOK_SECONDS_MAX

LEASE_S: Final = 3.0 * WEBHOOK_SECONDS_MAX
_AT_ONCE: Final = 500
"""So many ids go into one statement."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The lease of one webhook."""

    webhook: Webhook
    lease: str


class WebhookTurns:
    """Those of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database, self._now = database, now

    async def behind(self, newest: int) -> list[Webhook]:
        """Webhooks that were not told of everything up to the event of number ``newest`` and that nobody tells now;
        those that wait before they are tried again are left out, and those of disabled accounts."""
        query = select(webhooks).outerjoin(accounts, accounts.c.id == webhooks.c.account_id)
        query = query.where(self._is_due(), webhooks.c.cursor < newest, accounts.c.disabled_at.is_(None))
        async with self._database.reading() as connection:
            return [webhook_of(row) for row in await connection.execute(query.order_by(webhooks.c.cursor))]

    async def pass_over(self, ids: Collection[str], up_to: int) -> None:
        """Events up to that number are not for them."""
        names = sorted(ids)
        for start in range(0, len(names), _AT_ONCE):
            behind = and_(
                webhooks.c.id.in_(names[start : start + _AT_ONCE]), webhooks.c.cursor < up_to, self._is_free()
            )
            async with self._database.writing() as connection:
                await connection.execute(update(webhooks).where(behind).values(cursor=up_to))

    async def take(self, webhook: Webhook) -> Turn | None:
        """The turn to tell a webhook what comes next; ``None`` if it was told meanwhile, or somebody tells it."""
        lease = str(uuid.uuid4())
        same = and_(webhooks.c.id == webhook.id, webhooks.c.cursor == webhook.standing.cursor, self._is_due())
        values = {"lease": lease, "lease_until": self._now() + LEASE_S}
        async with self._database.writing() as connection:
            taken = (await connection.execute(update(webhooks).where(same).values(values))).rowcount
        return Turn(webhook, lease) if taken else None

    async def end(self, turn: Turn, standing: Standing, told: Told, attempt: Attempt) -> None:
        """It was told, or not. A lease that was lost changes nothing: somebody else went on."""
        held = and_(webhooks.c.id == turn.webhook.id, webhooks.c.lease == turn.lease)
        next_at = None if attempt.taken or standing.state is not WebhookState.ACTIVE else standing.due_at
        async with self._database.writing() as connection:
            await connection.execute(update(webhooks).where(held).values(_values(standing)))
            await note_delivery(connection, turn.webhook.id, told, attempt, next_at)

    async def give_back(self, turn: Turn) -> None:
        """Nothing was tried."""
        held = and_(webhooks.c.id == turn.webhook.id, webhooks.c.lease == turn.lease)
        async with self._database.writing() as connection:
            await connection.execute(update(webhooks).where(held).values(lease=None, lease_until=None))

    def _is_due(self) -> ColumnElement[bool]:
        is_active = webhooks.c.state == WebhookState.ACTIVE.value
        return and_(is_active, webhooks.c.due_at <= self._now(), self._is_free())

    def _is_free(self) -> ColumnElement[bool]:
        return or_(webhooks.c.lease_until.is_(None), webhooks.c.lease_until <= self._now())


def _values(standing: Standing) -> dict[str, object]:
    values: dict[str, object] = {
        "cursor": standing.cursor,
        "failures": standing.failures,
        "failing_since": standing.failing_since,
        "due_at": standing.due_at,
        "lease": None,
        "lease_until": None,
    }
    if standing.state is not WebhookState.ACTIVE:  # else it is as its owner says, who may have paused it meanwhile
        values |= {"state": standing.state.value, "reason": standing.reason}
    return values
