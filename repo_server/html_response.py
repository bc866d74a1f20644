"""Pages as answers: who is sent one where there is JSON too, and the headers of all of them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import hdrs, web

from repo_server.pages.frame import HEADERS

VARIES: Final = {"Vary": "Accept, Authorization", "Cache-Control": "no-cache"}


def wants_html(request: web.Request) -> bool:
    """Whether the caller names HTML, and likes it no less than JSON."""
    liked = dict(_preference(part) for part in request.headers.get(hdrs.ACCEPT, "").split(","))
    html = liked.get("text/html", 0.0)
    return html > 0 and html >= liked.get("application/json", 0.0)


def html_response(page: str, *, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    """``page``, to be asked for anew each time."""
    return web.Response(text=page, status=status, content_type="text/html", headers={**HEADERS, **VARIES})


def _preference(part: str) -> tuple[str, float]:
    kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
    weight = next((each.removeprefix("q=") for each in parameters if each.startswith("q=")), "1")
    try:
        return kind, float(weight)
    except ValueError:
        return kind, 0.0
