"""Who is told when the verdict on a dataset changes: a webhook of the dataset that has an address of its own."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

from aiohttp import web
from typing_extensions import TypedDict

from catalog.events import EventType
from opendatafabric.errors import NotFound
from repo_server.body_forms import JsonBody, read_body
from repo_server.gate import VISIT, Visit
from repo_server.openapi.described import JSON, Body, Tag, describes, empty, json
from repo_server.problems import json_response
from repo_server.webhook_states import plain_webhook
from repo_server.webhooks.wishes import Asker, new_webhook


class AlertState(TypedDict):
    """Where the change of a verdict is told; ``publicOnly`` unless an administrator gave the address."""

    host: str | None
    publicOnly: bool


class AlertWanted(JsonBody):
    """The address to tell."""

    url: str


@describes(Tag.REPOSITORY, json(AlertState), shown=True)
async def get_alert(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/alert``: the address without what may be secret in it."""
    return json_response(await _plain(request[VISIT]))


@describes(
    Tag.REPOSITORY, json(AlertState), body=Body({JSON: AlertWanted}, {"url": "https://example.org/hook"}), shown=True
)
async def put_alert(request: web.Request) -> web.StreamResponse:
    """``PUT /{dataset}/alert``. Unless an administrator gives it, the address must be a public one."""
    found = request[VISIT]
    url, account = (await read_body(request, AlertWanted)).url, found.caller.account
    assert account is not None  # nobody else is let through
    new = new_webhook(
        Asker(account, found.services.settings),
        url,
        dataset_id=found.dataset.entry.id,
        events=(EventType.VERDICT_CHANGED.value,),
        own=False,
        with_secret=False,
    )
    await found.services.catalog.webhooks.add(replace(new, is_alert=True))
    return json_response(await _plain(found))


@describes(Tag.REPOSITORY, empty(HTTPStatus.NO_CONTENT), shown=True)
async def delete_alert(request: web.Request) -> web.StreamResponse:
    """``DELETE /{dataset}/alert``."""
    found = request[VISIT]
    webhook = await found.services.catalog.webhooks.alert_of(found.dataset.entry.id)
    if webhook is not None:
        await found.services.catalog.webhooks.remove(webhook)
    return web.Response(status=HTTPStatus.NO_CONTENT)


async def _plain(found: Visit) -> AlertState:
    webhook = await found.services.catalog.webhooks.alert_of(found.dataset.entry.id)
    if webhook is None:
        raise NotFound("nobody is told of this dataset", hint="PUT …/alert")
    told = plain_webhook(webhook)
    return {"host": told["host"], "publicOnly": told["publicOnly"]}
