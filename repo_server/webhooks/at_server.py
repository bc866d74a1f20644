"""Webhooks as a server tells them: put together from its services."""

from __future__ import annotations

from repo_server.services import Services
from repo_server.webhooks.hearing import WebhookRights
from repo_server.webhooks.post import WebhookPost
from repo_server.webhooks.sending import Sender
from repo_server.webhooks.telling import Pace, WebhookTeller

_DAY_S = 86_400


def post_of(services: Services, rights: WebhookRights | None = None) -> WebhookPost:
    """What sends for the server."""
    sender = Sender(services.settings.attestation_key_path, services.catalog.attestation_keys, services.now)
    to_private = (rights or WebhookRights(services)).reaches_private_places
    return WebhookPost(services.catalog, sender, lambda: services.base_url, to_private)


def teller_of(services: Services) -> WebhookTeller:
    """What tells all webhooks of the catalog."""
    settings, rights = services.settings, WebhookRights(services)
    post = post_of(services, rights)
    days = settings.webhook_days_until_paused
    pace = Pace(settings.webhooks_at_once, settings.webhook_tellings_per_minute, days * _DAY_S)
    told = services.metrics.webhooks.told
    return WebhookTeller(services.catalog, rights, post.tell, pace, services.now, attempted=told)


async def tell_webhooks_for_ever(services: Services) -> None:
    """Whatever happens, until it is cancelled."""

    async def news(number: int, patience_s: float) -> object:
        return await services.feed.after(number, patience_s=patience_s)

    await teller_of(services).run_for_ever(news)
