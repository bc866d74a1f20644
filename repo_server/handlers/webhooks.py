"""Webhooks of whoever calls, and of a dataset for those who maintain it: the same handlers for both."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from aiohttp import web
from pydantic import Field

from catalog.scopes import Scope
from catalog.webhook_deliveries import Delivery
from catalog.webhooks import Owner, Webhook
from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedInput, NotFound
from repo_server.body_forms import JsonBody, read_body
from repo_server.gate import CALLER, VISIT
from repo_server.openapi.described import JSON, Body, Tag, describes, empty, json
from repo_server.problems import json_response
from repo_server.services import SERVICES, Services
from repo_server.webhook_states import (
    DeliveryInfo,
    MadeWebhook,
    WebhookInfo,
    plain_delivery,
    plain_webhook,
    with_secret,
)
from repo_server.webhooks.at_server import post_of
from repo_server.webhooks.hearing import WebhookRights
from repo_server.webhooks.wishes import Asker, new_webhook, webhook_change

_ADDRESS: Final = "https://example.org/hook"
_NO_STORE: Final = {"Cache-Control": "no-store"}
_GONE: Final = (HTTPStatus.NOT_FOUND,)
_DIGITS_MAX: Final = 18


class NewWebhookBody(JsonBody):
    """``events``: types, all if there are none; ``own``: of the account's own datasets alone; ``secret``: whether one
    is to be made that messages are signed with too."""

    url: str
    events: tuple[str, ...] = Field((), strict=False)
    own: bool = False
    secret: bool = False


class WebhookChangeBody(JsonBody):
    """What is to be otherwise. ``active`` resumes or pauses; ``secret`` makes another one, or has none."""

    url: str | None = None
    events: tuple[str, ...] | None = Field(None, strict=False)
    secret: bool | None = None
    active: bool | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the caller is: at its own webhooks, or at those of a dataset."""

    services: Services
    asker: Asker
    owner: Owner

    @property
    def dataset_id(self) -> DatasetId | None:
        return self.owner if isinstance(self.owner, DatasetId) else None


@describes(Tag.REPOSITORY, json(list[WebhookInfo]), shown=True)
async def get_webhooks(request: web.Request) -> web.StreamResponse:
    """``GET …/webhooks``: without addresses and secrets."""
    place = _place(request)
    return json_response([plain_webhook(each) for each in await place.services.catalog.webhooks.of(place.owner)])


@describes(
    Tag.REPOSITORY,
    json(MadeWebhook, HTTPStatus.CREATED),
    refuses=(HTTPStatus.FORBIDDEN, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    body=Body({JSON: NewWebhookBody}, {"url": _ADDRESS, "events": ["head-moved"], "secret": True}),
    shown=True,
)
async def post_webhook(request: web.Request) -> web.StreamResponse:
    """``POST …/webhooks``: tell that address whatever happens from now on."""
    place, wanted = _place(request), await read_body(request, NewWebhookBody)
    known = request[CALLER].authenticated
    if place.dataset_id is None and known is not None:
        known.check_may_give((Scope.DATASETS_READ,), ())  # it hears what the token might not read
    elif wanted.own:
        raise MalformedInput("a webhook of a dataset is about that dataset", hint="'own' is for those of accounts")
    new = new_webhook(
        place.asker,
        wanted.url,
        dataset_id=place.dataset_id,
        events=wanted.events,
        own=wanted.own,
        with_secret=wanted.secret,
    )
    made = await place.services.catalog.webhooks.add(new)
    return json_response(with_secret(made, shown=True), status=HTTPStatus.CREATED, headers=_NO_STORE)


@describes(Tag.REPOSITORY, json(WebhookInfo), refuses=_GONE)
async def get_webhook(request: web.Request) -> web.StreamResponse:
    """``GET …/webhooks/{webhook}``."""
    return json_response(plain_webhook(await _webhook(request)))


@describes(
    Tag.REPOSITORY,
    json(MadeWebhook),
    refuses=_GONE,
    body=Body({JSON: WebhookChangeBody}, {"active": True}),
)
async def patch_webhook(request: web.Request) -> web.StreamResponse:
    """``PATCH …/webhooks/{webhook}``."""
    place, webhook = _place(request), await _webhook(request)
    wanted = await read_body(request, WebhookChangeBody)
    change = webhook_change(
        place.asker, url=wanted.url, events=wanted.events, with_secret=wanted.secret, active=wanted.active
    )
    changed = await place.services.catalog.webhooks.change(webhook, change)
    return json_response(with_secret(changed, shown=bool(wanted.secret)), headers=_NO_STORE)


@describes(Tag.REPOSITORY, empty(HTTPStatus.NO_CONTENT), refuses=_GONE)
async def delete_webhook(request: web.Request) -> web.StreamResponse:
    """``DELETE …/webhooks/{webhook}``."""
    await _place(request).services.catalog.webhooks.remove(await _webhook(request))
    return web.Response(status=HTTPStatus.NO_CONTENT)


@describes(Tag.REPOSITORY, json(list[DeliveryInfo]), refuses=_GONE)
async def get_deliveries(request: web.Request) -> web.StreamResponse:
    """``GET …/webhooks/{webhook}/deliveries``: the last hundred attempts, the newest first."""
    webhook = await _webhook(request)
    found = await _place(request).services.catalog.webhook_deliveries.of(webhook.id)
    return json_response([plain_delivery(each) for each in found])


@describes(Tag.REPOSITORY, json(DeliveryInfo), refuses=_GONE)
async def post_test(request: web.Request) -> web.StreamResponse:
    """``POST …/webhooks/{webhook}/test``: send a test now, and say how it went."""
    webhook = await _webhook(request)
    return json_response(plain_delivery(await post_of(_place(request).services).test(webhook)))


@describes(Tag.REPOSITORY, json(DeliveryInfo), refuses=_GONE)
async def post_delivery(request: web.Request) -> web.StreamResponse:
    """``POST …/webhooks/{webhook}/deliveries/{delivery}``: send the same event once more."""
    services, webhook = _place(request).services, await _webhook(request)
    return json_response(plain_delivery(await sent_again(services, webhook, request.match_info["delivery"])))


async def sent_again(services: Services, webhook: Webhook, number: str) -> Delivery:
    """What was sent in the delivery of that number, sent once more; ``NotFound`` if the webhook hears it no more."""
    if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS_MAX):
        raise NotFound("there is no such delivery")
    told = (await services.catalog.webhook_deliveries.find(webhook.id, int(number))).told
    if told.event_id is None:
        return await post_of(services).test(webhook)
    event = await services.catalog.events.find(told.event_id)
    if not await WebhookRights(services).hears(webhook, event):
        raise NotFound("there is no such event for this webhook any more")
    return await post_of(services).again(webhook, event)


async def _webhook(request: web.Request) -> Webhook:
    place = _place(request)
    return await place.services.catalog.webhooks.find(request.match_info["webhook"], place.owner)


def _place(request: web.Request) -> _Place:
    services, account = request.app[SERVICES], request[CALLER].account
    assert account is not None  # nobody else is let through
    owner = request[VISIT].dataset.entry.id if VISIT in request else account.id
    return _Place(services, Asker(account, services.settings), owner)
