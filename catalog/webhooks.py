"""Who wants to be told what happens: webhooks of accounts and of datasets. How telling goes is in ``webhook_turns``.

An address may be a secret of its owner, as those of chat services are, and so is what its messages are signed with:
both are given to those alone who tell. Times are seconds since 1970.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.event_tables import events
from catalog.events import EventType
from catalog.webhook_schedule import Standing, WebhookState
from catalog.webhook_tables import webhooks
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import LimitExceeded, NotFound
from opendatafabric.server_limits import ACCOUNT_WEBHOOKS_MAX


class Reach(StrEnum):
    """Which datasets a webhook is about."""

    DATASET = "dataset"
    OWN = "own"
    """Those of its account."""
    ALL = "all"
    """Those that its account may read."""


@dataclass(frozen=True, slots=True)
class NewWebhook:
    """What is asked for: no ``types`` are all of them, and ``trusted`` goes to private places too. An ``is_alert``
    takes the place of the one that the dataset had."""

    url: str = field(repr=False)
    reach: Reach
    account_id: AccountId | None
    dataset_id: DatasetId | None = None
    types: frozenset[EventType] = frozenset()
    secret: str | None = field(default=None, repr=False)
    trusted: bool = False
    is_alert: bool = False


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook as it stands."""

    id: str
    wanted: NewWebhook
    standing: Standing
    created_at: float

    def is_about(self, type_: EventType, dataset_id: DatasetId) -> bool:
        """Whether it may want such an event, as far as it says itself."""
        wanted = self.wanted
        return (not wanted.types or type_ in wanted.types) and wanted.dataset_id in {None, dataset_id}


@dataclass(frozen=True, slots=True)
class WebhookChange:
    """What is to be otherwise; an empty ``secret`` is none. Whoever makes it ``active`` has it tried at once."""

    url: str | None = field(default=None, repr=False)
    types: frozenset[EventType] | None = None
    secret: str | None = field(default=None, repr=False)
    active: bool | None = None
    trusted: bool = False
    """Whether the new address may be a private one."""


Owner = AccountId | DatasetId
"""Whom a webhook belongs to: an account, with those about no dataset in particular, or a dataset."""


class Webhooks:
    """Those of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database, self._now = database, now

    async def add(self, new: NewWebhook) -> Webhook:
        """Tell whatever happens from now on.

        Raises:
            LimitExceeded: the account has made too many.
        """
        async with self._database.writing() as connection:
            if new.is_alert:
                await connection.execute(delete(webhooks).where(_is_alert_of(new.dataset_id)))
            await _check_count(connection, new.account_id)
            newest = (await connection.execute(select(func.max(events.c.id)))).scalar() or 0
            row = {"id": str(uuid.uuid4()), "cursor": newest, "created_at": self._now(), **_row_of(new)}
            await connection.execute(
                insert(webhooks).values(**row, state=WebhookState.ACTIVE.value, failures=0, due_at=0)
            )
            return webhook_of((await connection.execute(select(webhooks).where(webhooks.c.id == row["id"]))).one())

    async def of(self, owner: Owner | None = None) -> list[Webhook]:
        """Those of an account or a dataset, or all; the oldest first."""
        return await self._found(*([] if owner is None else [_belongs_to(owner)]))

    async def made_by(self, account_id: AccountId) -> list[Webhook]:
        """Those that an account made, for itself and for datasets; the oldest first."""
        return await self._found(webhooks.c.account_id == str(account_id))

    async def find(self, webhook_id: str, owner: Owner | None = None) -> Webhook:
        """One of them; ``NotFound`` if there is none."""
        conditions = [webhooks.c.id == webhook_id] + ([] if owner is None else [_belongs_to(owner)])
        found = await self._found(*conditions)
        if not found:
            raise NotFound("there is no such webhook")
        return found[0]

    async def alert_of(self, dataset_id: DatasetId) -> Webhook | None:
        """Who is told when the verdict on a dataset changes."""
        found = await self._found(_is_alert_of(dataset_id))
        return found[0] if found else None

    async def change(self, webhook: Webhook, change: WebhookChange) -> Webhook:
        """Have it otherwise; as it is then."""
        async with self._database.writing() as connection:
            changed = update(webhooks).where(webhooks.c.id == webhook.id)
            await connection.execute(changed.values(id=webhook.id, **_changed(change, self._now())))
        return await self.find(webhook.id)

    async def remove(self, webhook: Webhook) -> None:
        """Tell nothing more."""
        async with self._database.writing() as connection:
            await connection.execute(delete(webhooks).where(webhooks.c.id == webhook.id))

    async def counts(self) -> dict[WebhookState, int]:
        """How many there are in each state."""
        query = select(webhooks.c.state, func.count()).group_by(webhooks.c.state)
        async with self._database.reading() as connection:
            found = {row[0]: row[1] for row in await connection.execute(query)}
        return {state: found.get(state.value, 0) for state in WebhookState}

    async def _found(self, *conditions: ColumnElement[bool]) -> list[Webhook]:
        query = select(webhooks).where(*conditions).order_by(webhooks.c.created_at, webhooks.c.id)
        async with self._database.reading() as connection:
            return [webhook_of(row) for row in await connection.execute(query)]


async def _check_count(connection: AsyncConnection, account_id: AccountId | None) -> None:
    made = select(func.count()).select_from(webhooks).where(webhooks.c.account_id == str(account_id))
    if (await connection.execute(made)).scalar_one() >= ACCOUNT_WEBHOOKS_MAX:
        raise LimitExceeded("the account has too many webhooks", expected=f"at most {ACCOUNT_WEBHOOKS_MAX}")


def _belongs_to(owner: Owner) -> ColumnElement[bool]:
    if isinstance(owner, DatasetId):
        return webhooks.c.dataset_id == str(owner)
    return (webhooks.c.account_id == str(owner)) & webhooks.c.dataset_id.is_(None)


def _is_alert_of(dataset_id: DatasetId | None) -> ColumnElement[bool]:
    return (webhooks.c.dataset_id == str(dataset_id)) & (webhooks.c.is_alert == 1)


def _changed(change: WebhookChange, now: float) -> dict[str, object]:
    values: dict[str, object] = {}
    if change.url is not None:
        values |= {"url": change.url, "trusted": int(change.trusted)}
    if change.types is not None:
        values["types"] = _types_text(change.types)
    if change.secret is not None:
        values["secret"] = change.secret or None
    if change.active is not None:
        state = WebhookState.ACTIVE if change.active else WebhookState.PAUSED
        values |= {"state": state.value, "reason": None, "failures": 0, "failing_since": None, "due_at": now}
    return values


def _row_of(new: NewWebhook) -> dict[str, object]:
    return {
        "account_id": None if new.account_id is None else str(new.account_id),
        "dataset_id": None if new.dataset_id is None else str(new.dataset_id),
        "reach": new.reach.value,
        "url": new.url,
        "types": _types_text(new.types),
        "secret": new.secret,
        "trusted": int(new.trusted),
        "is_alert": int(new.is_alert),
    }


def _types_text(types: frozenset[EventType]) -> str:
    return " ".join(sorted(types))


def webhook_of(row: Row[Any]) -> Webhook:
    """As a row of the table says."""
    wanted = NewWebhook(
        row.url,
        Reach(row.reach),
        None if row.account_id is None else AccountId.from_text(row.account_id),
        None if row.dataset_id is None else DatasetId.from_text(row.dataset_id),
        frozenset(map(EventType, row.types.split())),
        row.secret,
        bool(row.trusted),
        bool(row.is_alert),
    )
    state = WebhookState(row.state)
    standing = Standing(row.cursor, row.due_at, state, row.reason, row.failures, row.failing_since)
    return Webhook(row.id, wanted, standing, row.created_at)
