"""Refusals as pages, for people who look at something with a browser: the same status, and the same words for what is
not there and for what they may not see."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import orjson
from aiohttp import hdrs, web
from yarl import URL

from repo_server.gate import CALLER
from repo_server.html_response import frame_of, html_response, wants_html
from repo_server.pages.templates import render
from repo_server.problems import PROBLEM

_LOOKING: Final = frozenset({hdrs.METH_GET, hdrs.METH_HEAD})
_MAY_HELP: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
"""Where it may help to log in."""

_HEADINGS: Final = {
    HTTPStatus.UNAUTHORIZED: "Log in to see this",
    HTTPStatus.FORBIDDEN: "This is not for you",
    HTTPStatus.NOT_FOUND: "Not found",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many requests",
    HTTPStatus.SERVICE_UNAVAILABLE: "Try again in a moment",
}
"""What a page says first, where that is plainer than the name of the error."""


def as_page(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """``response``, or a page that says the same if it is a problem and the caller asks for HTML."""
    if not isinstance(response, web.Response) or response.content_type != PROBLEM or response.prepared:
        return response
    if request.method not in _LOOKING or not wants_html(request):
        return response
    made = html_response(_page(request, response), status=HTTPStatus(response.status))
    for name, value in response.headers.items():
        if name not in {hdrs.CONTENT_TYPE, hdrs.CONTENT_LENGTH}:
            made.headers.setdefault(name, value)
    return made


def _page(request: web.Request, response: web.Response) -> str:
    body = response.body
    told = orjson.loads(body) if isinstance(body, bytes) else {}
    caller = request.get(CALLER)
    is_known = caller is not None and caller.account is not None
    login = str(URL("/v/login").with_query(onward=request.rel_url.raw_path))
    return render(
        "refused.html",
        frame=frame_of(request),
        heading=_HEADINGS.get(HTTPStatus(response.status)),
        title=told.get("title", ""),
        detail=told.get("detail", ""),
        hint=told.get("hint"),
        login=login if response.status in _MAY_HELP and not is_known else None,
    )
