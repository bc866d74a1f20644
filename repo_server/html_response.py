"""Pages as answers: who is sent one where there is JSON too, and the headers of all of them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web

from repo_server.accepted import liked_types
from repo_server.pages.frame import HEADERS

VARIES: Final = {"Vary": "Accept, Authorization", "Cache-Control": "no-cache"}


def wants_html(request: web.Request) -> bool:
    """Whether the caller names HTML, and likes it no less than JSON."""
    liked = liked_types(request)
    html = liked.get("text/html", 0.0)
    return html > 0 and html >= liked.get("application/json", 0.0)


def html_response(page: str, *, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    """``page``, to be asked for anew each time."""
    return web.Response(text=page, status=status, content_type="text/html", headers={**HEADERS, **VARIES})
