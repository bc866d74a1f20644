"""What an error means: where the ``type`` of a problem document leads, as JSON or as a page."""

from __future__ import annotations

import re
from typing import Any, Final

from aiohttp import web

from opendatafabric.errors import NotFound
from repo_server.error_table import ERROR_TYPES, TYPES_PATH, ErrorType
from repo_server.handlers.reports import wants_html
from repo_server.pages.frame import HEADERS, facts, page
from repo_server.pages.html import element
from repo_server.problems import json_response

_HEADERS: Final = {"Cache-Control": "public, max-age=3600", "Vary": "Accept"}
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


async def get_error(request: web.Request) -> web.StreamResponse:
    """``GET /system/errors/{code}``."""
    code = request.match_info["code"]
    kind = ERROR_TYPES.get(code)
    if kind is None:
        raise NotFound("no error is called so", hint=f"a code stands in the `type` of a problem: {TYPES_PATH}CODE")
    if wants_html(request):
        return web.Response(text=_page(code, kind), content_type="text/html", headers={**HEADERS, **_HEADERS})
    return json_response(_plain(code, kind), headers=_HEADERS)


def _plain(code: str, kind: ErrorType) -> dict[str, Any]:
    return {
        "type": f"{TYPES_PATH}{code}",
        "code": code,
        "title": kind.title,
        "status": kind.status,
        "remedy": _LINK.sub(r"\1", kind.remedy),
    }


def _page(code: str, kind: ErrorType) -> str:
    told = _plain(code, kind)
    status = None if kind.status is None else f"{kind.status.value} {kind.status.phrase}"
    return page(code, element("h1", code), facts(means=kind.title, what_to_do=told["remedy"], HTTP_status=status))
