"""What pages of other origins may do (Fetch, CORS): read and ask whatever a token in a header lets them, never more.

Any origin may call the API, for nothing in it follows from where a request comes from: a token is sent by whoever has
it. Cookies do not travel: no answer allows credentials, and pages and forms, which cookies are for, are not opened to
other origins at all.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import hdrs, web

from repo_server.openapi.described import HTML, Tag, operation_of
from repo_server.route import Route

PAGE_HANDLERS: Final[web.AppKey[set[object]]] = web.AppKey("page_handlers", set[object])
"""What answers pages and forms."""

_EXPOSED: Final = (
    "ETag, Content-Range, Accept-Ranges, Link, Location, Retry-After, Upload-Offset, Upload-Length, X-Request-Id"
)
_PREFLIGHT_S: Final = 3_600
_CORS: Final = "Access-Control-"


def is_page(route: Route) -> bool:
    """Whether a route is for people with browsers alone."""
    operation = operation_of(route.handler)
    return operation is not None and operation.tag is Tag.PAGES


def is_preflight(request: web.Request) -> bool:
    """Whether a browser asks what it may ask."""
    return request.method == hdrs.METH_OPTIONS and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers


async def preflight(request: web.Request) -> web.Response:
    """What the path allows; nothing for pages and for what is not there."""
    asked = request.headers[hdrs.ACCESS_CONTROL_REQUEST_METHOD]
    allowed = await _allowed(request)
    if asked not in allowed or await _is_of_page(request, asked):
        return web.Response(status=HTTPStatus.FORBIDDEN if allowed else HTTPStatus.NOT_FOUND)
    headers = {
        "Access-Control-Allow-Methods": ",".join(sorted(allowed)),
        "Access-Control-Allow-Headers": "Authorization,*",  # the star does not stand for that one
        "Access-Control-Max-Age": str(_PREFLIGHT_S),
    }
    return web.Response(headers=headers)


async def open_to_origins(request: web.Request, response: web.StreamResponse) -> None:
    """Let pages of other origins read the answer, if it is none of a page; runs when headers are about to be sent."""
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    if response.content_type == HTML or request.match_info.handler in request.app[PAGE_HANDLERS]:
        return
    refused = is_preflight(request) and response.status >= HTTPStatus.BAD_REQUEST
    if not refused:
        response.headers.setdefault(f"{_CORS}Allow-Origin", "*")
        response.headers.setdefault(f"{_CORS}Expose-Headers", _EXPOSED)


async def _allowed(request: web.Request) -> set[str]:
    found = await request.app.router.resolve(request)
    error = found.http_exception
    return set(error.allowed_methods) if isinstance(error, web.HTTPMethodNotAllowed) else set()


async def _is_of_page(request: web.Request, method: str) -> bool:
    found = await request.app.router.resolve(request.clone(method=method))
    return found.handler in request.app[PAGE_HANDLERS]
