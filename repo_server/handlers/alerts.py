"""Who is told when the verdict on a dataset changes: set by those who may write it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web
from typing_extensions import TypedDict
from yarl import URL

from catalog.alerts import Webhook
from opendatafabric.errors import MalformedInput, NotFound
from repo_server.body import read_json
from repo_server.gate import VISIT, Visit
from repo_server.openapi.described import JSON, Body, Tag, describes, empty, json
from repo_server.problems import json_response

_URL_CHARS_MAX: Final = 2_000


class AlertState(TypedDict):
    """Where the change of a verdict is told; ``publicOnly`` unless an administrator gave the address."""

    host: str | None
    publicOnly: bool


class AlertWanted(TypedDict):
    """The address to tell."""

    url: str


@describes(Tag.REPOSITORY, json(AlertState))
async def get_alert(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/alert``: the address without what may be secret in it."""
    return json_response(await _plain(request[VISIT]))


@describes(
    Tag.REPOSITORY, json(AlertState), body=Body({JSON: AlertWanted}, {"url": "https://example.org/hook"}), shown=True
)
async def put_alert(request: web.Request) -> web.StreamResponse:
    """``PUT /{dataset}/alert``. Unless an administrator gives it, the address must be a public one."""
    found = request[VISIT]
    body = await read_json(request, found.services.settings)
    url = _checked(body)
    account = found.caller.account
    webhook = Webhook(url, foreign=account is None or not account.is_admin)
    await found.services.catalog.alerts.set(found.dataset.entry.id, webhook)
    return json_response(await _plain(found))


@describes(Tag.REPOSITORY, empty(HTTPStatus.NO_CONTENT))
async def delete_alert(request: web.Request) -> web.StreamResponse:
    """``DELETE /{dataset}/alert``."""
    found = request[VISIT]
    await found.services.catalog.alerts.remove(found.dataset.entry.id)
    return web.Response(status=HTTPStatus.NO_CONTENT)


def _checked(body: dict[str, object]) -> str:
    url = body.get("url")
    if set(body) != {"url"} or not isinstance(url, str) or len(url) > _URL_CHARS_MAX:
        raise MalformedInput("an alert has the one field 'url'", expected='{"url": "https://…"}')
    try:
        parsed = URL(url)
    except ValueError:
        parsed = URL()
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise MalformedInput("an alert goes to a web address", expected="https://…")
    return url


async def _plain(found: Visit) -> AlertState:
    webhook = await found.services.catalog.alerts.find(found.dataset.entry.id)
    if webhook is None:
        raise NotFound("nobody is told of this dataset", hint="PUT …/alert")
    return {"host": URL(webhook.url).host, "publicOnly": webhook.foreign}
