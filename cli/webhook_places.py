"""Where webhooks are kept: in the catalog of a repository here, or at a server that is asked for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar, cast
from urllib.parse import quote

from catalog.accounts import Account
from catalog.webhooks import Owner, Webhook, WebhookChange
from cli.datasets import is_server
from cli.lifecycles import server_path
from cli.places import Places, places_in
from cli.server_api import ServerApi, server_api
from cli.server_reports import located_on_server
from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedInput
from opendatafabric.names import AccountName
from repo_server.webhook_states import (
    DeliveryInfo,
    MadeWebhook,
    WebhookInfo,
    plain_delivery,
    plain_webhook,
    with_secret,
)
from repo_server.webhooks.post import WebhookPost
from repo_server.webhooks.sending import Sender
from repo_server.webhooks.wishes import Asker, new_webhook

T = TypeVar("T")
_OWN: Final = "/accounts/me/webhooks"


@dataclass(frozen=True, slots=True)
class Whose:
    """Of which dataset, or of which account; at a server without either of whoever asks."""

    dataset: str | None
    account: str | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """The webhook that is asked for."""

    url: str = field(repr=False)
    events: tuple[str, ...]
    own: bool
    secret: bool


class WebhookPlace(Protocol):
    """What commands do with webhooks. Errors are those of the catalog, or of ``ServerApi``."""

    async def add(self, wish: Wish) -> MadeWebhook: ...

    async def listed(self) -> list[WebhookInfo]: ...

    async def remove(self, webhook_id: str) -> None: ...

    async def set_active(self, webhook_id: str, *, active: bool) -> WebhookInfo: ...

    async def test(self, webhook_id: str) -> DeliveryInfo: ...

    async def deliveries(self, webhook_id: str) -> list[DeliveryInfo]: ...


def with_webhooks(repository: str, whose: Whose, work: Callable[[WebhookPlace], Awaitable[T]]) -> T:
    """What a command does with the webhooks of a repository."""

    async def opened() -> T:
        async with _place(repository, whose) as place:
            return await work(place)

    return asyncio.run(opened())


@asynccontextmanager
async def _place(repository: str, whose: Whose) -> AsyncIterator[WebhookPlace]:
    there = None if whose.dataset is None else await located_on_server(whose.dataset, repository)
    if there is None and not is_server(repository):
        async with places_in(repository) as places:
            yield await _here(places, whose)
        return
    if whose.account is not None:
        raise MalformedInput("a server knows who asks", hint="leave --account out, and log in as that account")
    address, path = (repository, _OWN) if there is None else (server_path(there), "/webhooks")
    async with server_api(address) as api:
        yield WebhooksAtServer(api, path)


async def _here(places: Places, whose: Whose) -> WebhookPlace:
    if whose.dataset is not None:
        return WebhooksHere(places, (await places.record(whose.dataset)).id, None)
    account = None if whose.account is None else await places.catalog.accounts.find(AccountName(whose.account))
    return WebhooksHere(places, None if account is None else account.id, account)


class WebhooksHere:
    """In the catalog: of a dataset, an account, or all of them."""

    def __init__(self, places: Places, owner: Owner | None, account: Account | None) -> None:
        self._settings, self._catalog = places.settings, places.catalog
        self._owner, self._account = owner, account

    async def add(self, wish: Wish) -> MadeWebhook:
        if self._owner is None:
            raise MalformedInput("a webhook is of an account or of a dataset", hint="--account NAME or --dataset REF")
        dataset_id = self._owner if isinstance(self._owner, DatasetId) else None
        new = new_webhook(
            Asker(self._account, self._settings),
            wish.url,
            dataset_id=dataset_id,
            events=wish.events,
            own=wish.own,
            with_secret=wish.secret,
        )
        return cast(MadeWebhook, with_secret(await self._catalog.webhooks.add(new), shown=True))

    async def listed(self) -> list[WebhookInfo]:
        return [plain_webhook(each) for each in await self._catalog.webhooks.of(self._owner)]

    async def remove(self, webhook_id: str) -> None:
        await self._catalog.webhooks.remove(await self._find(webhook_id))

    async def set_active(self, webhook_id: str, *, active: bool) -> WebhookInfo:
        change = WebhookChange(active=active)
        return plain_webhook(await self._catalog.webhooks.change(await self._find(webhook_id), change))

    async def test(self, webhook_id: str) -> DeliveryInfo:
        sender = Sender(self._settings.attestation_key_path, self._catalog.attestation_keys, time.time)
        post = WebhookPost(self._catalog, sender, lambda: self._source, self._to_private)
        return plain_delivery(await post.test(await self._find(webhook_id)))

    async def deliveries(self, webhook_id: str) -> list[DeliveryInfo]:
        webhook = await self._find(webhook_id)
        return [plain_delivery(each) for each in await self._catalog.webhook_deliveries.of(webhook.id)]

    @property
    def _source(self) -> str:
        settings = self._settings
        return (settings.public_url or f"http://{settings.host}:{settings.port}").rstrip("/")

    async def _find(self, webhook_id: str) -> Webhook:
        return await self._catalog.webhooks.find(webhook_id, self._owner)

    async def _to_private(self, webhook: Webhook) -> bool:
        return self._settings.webhook_private_places or webhook.wanted.trusted


class WebhooksAtServer:
    """At a server: those of whoever asks, or of a dataset."""

    def __init__(self, api: ServerApi, path: str) -> None:
        self._api, self._path = api, path

    async def add(self, wish: Wish) -> MadeWebhook:
        told: dict[str, Any] = {"url": wish.url, "events": list(wish.events), "own": wish.own, "secret": wish.secret}
        return cast(MadeWebhook, await self._api.ask("POST", self._path, told))

    async def listed(self) -> list[WebhookInfo]:
        found: list[WebhookInfo] = await self._api.ask("GET", self._path)
        return found

    async def remove(self, webhook_id: str) -> None:
        await self._api.ask("DELETE", self._one(webhook_id))

    async def set_active(self, webhook_id: str, *, active: bool) -> WebhookInfo:
        return cast(WebhookInfo, await self._api.ask("PATCH", self._one(webhook_id), {"active": active}))

    async def test(self, webhook_id: str) -> DeliveryInfo:
        return cast(DeliveryInfo, await self._api.ask("POST", f"{self._one(webhook_id)}/test"))

    async def deliveries(self, webhook_id: str) -> list[DeliveryInfo]:
        found: list[DeliveryInfo] = await self._api.ask("GET", f"{self._one(webhook_id)}/deliveries")
        return found

    def _one(self, webhook_id: str) -> str:
        return f"{self._path}/{quote(webhook_id, safe='')}"
