"""Where a person sees the webhooks that they made, makes new ones, tries them and looks how they went."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Final

from aiohttp import web
from yarl import URL

from catalog.accounts import Account
from catalog.permissions import Access
from catalog.scopes import session_scopes, with_included
from catalog.tokens import Authenticated
from catalog.webhooks import Webhook, WebhookChange
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.errors import LimitExceeded, MalformedIdentifier, MalformedInput, NotFound
from repo_server.body import Form
from repo_server.gate import access_of
from repo_server.handlers.browser_login import to_page
from repo_server.handlers.device import LOGIN_PATH
from repo_server.handlers.webhooks import sent_again
from repo_server.html_response import frame_of
from repo_server.identity import Caller
from repo_server.openapi.described import FORM, STRING, Body, Tag, describes, empty, page
from repo_server.pages.frame import FORM_HEADERS
from repo_server.pages.webhook_page import WebhookNews, deliveries_page, webhook_page
from repo_server.services import SERVICES, Services
from repo_server.sessions import Session, checked_form, session_of
from repo_server.webhooks.at_server import post_of
from repo_server.webhooks.wishes import Asker, new_webhook

WEBHOOKS_PATH: Final = "/v/webhooks"
_FORM: Final = Body({FORM: {"type": "object", "additionalProperties": STRING}})
_TO_LOGIN: Final = empty(HTTPStatus.SEE_OTHER, "nobody is logged in with this browser")
_DONE: Final = empty(HTTPStatus.SEE_OTHER, "it was done, or nobody is logged in with this browser")


@describes(Tag.PAGES, page(), _TO_LOGIN)
async def get_webhooks(request: web.Request) -> web.StreamResponse:
    """``GET /v/webhooks``: those that whoever is logged in has made."""
    session = await session_of(request)
    if session.account is None:
        return _to_login(request)
    return await _shown(request, session, session.account, WebhookNews())


@describes(
    Tag.PAGES,
    page("with the secret of the new webhook, if one was asked for"),
    page("what was filled in cannot be used", HTTPStatus.BAD_REQUEST),
    _TO_LOGIN,
    refuses=(HTTPStatus.FORBIDDEN,),
    body=_FORM,
)
async def post_webhook(request: web.Request) -> web.StreamResponse:
    """``POST /v/webhooks``: a new one. Its address is shown nowhere, its secret on this answer alone."""
    form, session = await checked_form(request), await session_of(request)
    if session.account is None:
        return _to_login(request)
    try:
        made = await _made(request.app[SERVICES], session.account, form)
    except (MalformedInput, MalformedIdentifier, LimitExceeded) as error:
        news = WebhookNews(wrong=error.message)
        return await _shown(request, session, session.account, news, HTTPStatus.BAD_REQUEST)
    return await _shown(request, session, session.account, WebhookNews(made.id, made.wanted.secret))


@describes(Tag.PAGES, page(), _TO_LOGIN, refuses=(HTTPStatus.NOT_FOUND,))
async def get_webhook(request: web.Request) -> web.StreamResponse:
    """``GET /v/webhooks/{webhook}``: how telling it went."""
    session = await session_of(request)
    if session.account is None:
        return _to_login(request)
    services, webhook = request.app[SERVICES], await _own(request, session.account)
    deliveries = await services.catalog.webhook_deliveries.of(webhook.id)
    frame = frame_of(request, account=session.account)
    shown = deliveries_page(webhook, deliveries, frame, csrf_token=session.csrf_token)
    return web.Response(text=shown, content_type="text/html", headers=FORM_HEADERS)


@describes(Tag.PAGES, _DONE, refuses=(HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND), body=_FORM)
async def post_deed(request: web.Request) -> web.StreamResponse:
    """``POST /v/webhooks/{webhook}``: test, pause, resume or remove it, or send a delivery again, as ``do`` says."""
    form, session = await checked_form(request), await session_of(request)
    if session.account is None:
        return _to_login(request)
    services, webhook = request.app[SERVICES], await _own(request, session.account)
    deed = _DEEDS.get(form.one("do"))
    if deed is None:
        raise MalformedInput("that cannot be done to a webhook", expected=", ".join(_DEEDS))
    await deed(services, webhook, form)
    is_gone = deed is _remove
    return to_page(request, WEBHOOKS_PATH if is_gone else f"{WEBHOOKS_PATH}/{webhook.id}")


async def _test(services: Services, webhook: Webhook, _: Form) -> None:
    await post_of(services).test(webhook)


async def _again(services: Services, webhook: Webhook, form: Form) -> None:
    await sent_again(services, webhook, form.one("delivery"))


async def _pause(services: Services, webhook: Webhook, _: Form) -> None:
    await services.catalog.webhooks.change(webhook, WebhookChange(active=False))


async def _resume(services: Services, webhook: Webhook, _: Form) -> None:
    await services.catalog.webhooks.change(webhook, WebhookChange(active=True))


async def _remove(services: Services, webhook: Webhook, _: Form) -> None:
    await services.catalog.webhooks.remove(webhook)


_DEEDS: Final[Mapping[str, Callable[[Services, Webhook, Form], Awaitable[None]]]] = {
    "test": _test,
    "again": _again,
    "pause": _pause,
    "resume": _resume,
    "remove": _remove,
}


async def _made(services: Services, account: Account, form: Form) -> Webhook:
    named = form.one("dataset").strip()
    new = new_webhook(
        Asker(account, services.settings),
        form.one("url").strip(),
        dataset_id=await _maintained(services, account, named) if named else None,
        events=tuple(form.all("event")),
        own=bool(form.all("own")),
        with_secret=bool(form.all("secret")),
    )
    return await services.catalog.webhooks.add(new)


async def _maintained(services: Services, account: Account, name: str) -> DatasetId:
    hosted = await services.directory.find(DatasetAlias.from_text(name))
    scopes = with_included(session_scopes(is_admin=account.is_admin))
    caller = Caller(Authenticated(account, scopes))
    if hosted is None or await access_of(services, hosted, caller, named=True) < Access.MAINTAIN:
        raise MalformedInput("you maintain no such dataset", expected="account/name")
    return hosted.entry.id


async def _own(request: web.Request, account: Account) -> Webhook:
    webhook_id = request.match_info["webhook"]
    for webhook in await request.app[SERVICES].catalog.webhooks.made_by(account.id):
        if webhook.id == webhook_id:
            return webhook
    raise NotFound("you have no such webhook")


async def _shown(
    request: web.Request, session: Session, account: Account, news: WebhookNews, status: HTTPStatus = HTTPStatus.OK
) -> web.Response:
    webhooks = await request.app[SERVICES].catalog.webhooks.made_by(account.id)
    shown = webhook_page(webhooks, news, frame_of(request, account=account), csrf_token=session.csrf_token)
    return web.Response(text=shown, content_type="text/html", headers=FORM_HEADERS, status=status)


def _to_login(request: web.Request) -> web.Response:
    return to_page(request, str(URL(LOGIN_PATH).with_query(onward=WEBHOOKS_PATH)))
