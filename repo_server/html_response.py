"""Pages as answers: who is sent one where there is JSON too, and the headers of all of them."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Final

from aiohttp import web

from catalog.accounts import Account
from repo_server.accepted import liked_types
from repo_server.gate import CALLER
from repo_server.pages.frame import HEADERS, Frame, frame_at
from repo_server.services import SERVICES

VARIES: Final = {"Vary": "Accept, Authorization, Cookie", "Cache-Control": "private, no-cache"}


def wants_html(request: web.Request) -> bool:
    """Whether the caller names HTML, and likes it no less than JSON."""
    liked = liked_types(request)
    html = liked.get("text/html", 0.0)
    return html > 0 and html >= liked.get("application/json", 0.0)


def html_response(page: str, *, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    """``page``, to be asked for anew each time."""
    return web.Response(text=page, status=status, content_type="text/html", headers={**HEADERS, **VARIES})


def frame_of(request: web.Request, *, account: Account | None = None, query: str = "") -> Frame:
    """What surrounds a page for whoever asks, or for ``account`` where that is known otherwise."""
    services, caller = request.app[SERVICES], request.get(CALLER)
    account = account or (None if caller is None else caller.account)
    frame = frame_at(services.base_url)
    if account is None:
        return replace(frame, query=query)
    return replace(frame, query=query, account=str(account.name), is_admin=account.is_admin)
