"""What is sent to webhooks: events, and tries that somebody asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import orjson

from catalog.catalog import Catalog
from catalog.events import Event
from catalog.webhook_deliveries import Delivery, Told
from catalog.webhook_schedule import Attempt
from catalog.webhooks import Webhook
from repo_server.event_states import TEST_TYPE, told_event, told_test
from repo_server.webhooks.sending import Sender


@dataclass(frozen=True, slots=True)
class WebhookPost:
    """``source`` is what clients call this server; ``to_private`` says whether a webhook may go to private places."""

    catalog: Catalog
    sender: Sender
    source: Callable[[], str]
    to_private: Callable[[Webhook], Awaitable[bool]]

    async def tell(self, webhook: Webhook, event: Event) -> Attempt:
        """Tell it an event, once."""
        return await self._send(webhook, told_event(event, source=self.source()))

    async def test(self, webhook: Webhook) -> Delivery:
        """Tell it that somebody tries whether it would be told."""
        attempt = await self._send(webhook, told_test(webhook.id, self.sender.now(), source=self.source()))
        return await self.catalog.webhook_deliveries.note(webhook.id, Told(None, TEST_TYPE, None), attempt)

    async def again(self, webhook: Webhook, event: Event) -> Delivery:
        """Tell it an event once more, whatever became of it."""
        attempt, told = await self.tell(webhook, event), Told(event.id, event.type.value, event.alias)
        return await self.catalog.webhook_deliveries.note(webhook.id, told, attempt)

    async def _send(self, webhook: Webhook, event: dict[str, object]) -> Attempt:
        private_places = await self.to_private(webhook)
        return await self.sender.send(webhook, orjson.dumps(event), private_places=private_places)
