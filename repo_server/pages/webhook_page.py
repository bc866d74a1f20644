"""The pages of webhooks: which there are and how they stand, the form for a new one, and how telling one went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from catalog.events import EventType
from catalog.webhook_deliveries import Delivery
from catalog.webhook_schedule import WebhookState
from catalog.webhooks import Webhook
from repo_server.pages.frame import Frame
from repo_server.pages.templates import render
from repo_server.webhook_states import plain_webhook


@dataclass(frozen=True, slots=True)
class WebhookNews:
    """What came of the form: the id of a new webhook and perhaps its secret, or what was ``wrong``."""

    made: str | None = None
    secret: str | None = field(default=None, repr=False)
    wrong: str | None = None


def webhook_page(webhooks: Sequence[Webhook], news: WebhookNews, frame: Frame, *, csrf_token: str) -> str:
    """The whole page."""
    rows = [_row(each) for each in webhooks[::-1]]
    types = [each.value for each in EventType]
    return render("webhooks.html", frame=frame, news=news, webhooks=rows, types=types, csrf_token=csrf_token)


def deliveries_page(webhook: Webhook, deliveries: Sequence[Delivery], frame: Frame, *, csrf_token: str) -> str:
    """The page of one."""
    rows = [{"id": each.id, "told": each.told, "attempt": each.attempt, "next_at": each.next_at} for each in deliveries]
    is_active = webhook.standing.state is WebhookState.ACTIVE
    return render(
        "webhook.html",
        frame=frame,
        webhook=_row(webhook),
        deliveries=rows,
        is_active=is_active,
        csrf_token=csrf_token,
    )


def _row(webhook: Webhook) -> dict[str, object]:
    told = plain_webhook(webhook)
    reach = {"all": "all that you may read", "own": "your own"}.get(told["reach"]) or told["datasetId"]
    events = ", ".join(told["events"]) or "all"
    return {**told, "about": reach, "events": events, "created_at": webhook.created_at}
