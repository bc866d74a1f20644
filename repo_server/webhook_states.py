"""Webhooks and how telling them went as plain values: for the API and for the command line. No address is shown whole,
and no secret at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from typing_extensions import TypedDict

from catalog.events import EventType
from catalog.webhook_deliveries import Delivery
from catalog.webhook_schedule import WebhookState
from catalog.webhooks import Webhook
from opendatafabric.errors import MalformedInput
from repo_server.moments import moment, moment_or_none


class WebhookInfo(TypedDict):
    """A webhook. ``events`` are the types that it is told, none for all; ``reach`` is ``dataset``, ``own`` or ``all``;
    ``state`` is ``active``, ``failing``, ``paused`` or ``ended``, ``reason`` why."""

    id: str
    host: str | None
    reach: str
    datasetId: str | None
    events: list[str]
    signedWithSecret: bool
    publicOnly: bool
    createdAt: str
    state: str
    reason: str | None
    toldUpTo: int
    failures: int
    failingSince: str | None
    nextAttemptAt: str | None


class MadeWebhook(WebhookInfo):
    """``secret`` where one was asked for: it cannot be had again."""

    secret: str | None


class DeliveryInfo(TypedDict):
    """One attempt: ``event`` is its number, none for a test; ``failure`` where it was not taken."""

    id: int
    event: str | None
    type: str
    subject: str | None
    attempt: int
    at: str
    durationS: float
    status: int | None
    taken: bool
    failure: str | None
    nextAttemptAt: str | None


def plain_webhook(webhook: Webhook) -> WebhookInfo:
    """A webhook as plain values."""
    wanted, standing = webhook.wanted, webhook.standing
    is_failing = standing.failures > 0 and standing.state is WebhookState.ACTIVE
    return {
        "id": webhook.id,
        "host": urlsplit(wanted.url).hostname,
        "reach": wanted.reach.value,
        "datasetId": None if wanted.dataset_id is None else str(wanted.dataset_id),
        "events": sorted(wanted.types),
        "signedWithSecret": wanted.secret is not None,
        "publicOnly": not wanted.trusted,
        "createdAt": moment(webhook.created_at),
        "state": "failing" if is_failing else standing.state.value,
        "reason": standing.reason,
        "toldUpTo": standing.cursor,
        "failures": standing.failures,
        "failingSince": moment_or_none(standing.failing_since),
        "nextAttemptAt": moment(standing.due_at) if is_failing else None,
    }


def plain_delivery(delivery: Delivery) -> DeliveryInfo:
    """An attempt as plain values."""
    told, attempt = delivery.told, delivery.attempt
    return {
        "id": delivery.id,
        "event": None if told.event_id is None else str(told.event_id),
        "type": told.type,
        "subject": told.subject,
        "attempt": told.attempt,
        "at": moment(attempt.at),
        "durationS": round(attempt.duration_s, 3),
        "status": attempt.status,
        "taken": attempt.taken,
        "failure": None if attempt.taken else attempt.told,
        "nextAttemptAt": moment_or_none(delivery.next_at),
    }


def event_types(names: tuple[str, ...] | list[str]) -> frozenset[EventType]:
    """Types by their names, also as they stand in events.

    Raises:
        MalformedInput: there is no such type.
    """
    try:
        return frozenset(map(EventType, names))
    except ValueError:
        raise MalformedInput("there is no such type of event", expected=", ".join(EventType)) from None


def with_secret(webhook: Webhook, *, shown: bool) -> Mapping[str, Any]:
    """The same with the secret, for whoever has just asked for one."""
    return {**plain_webhook(webhook), "secret": webhook.wanted.secret if shown else None}
