"""What an error means: where the ``type`` of a problem document leads, as JSON or as a page."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

from aiohttp import web
from typing_extensions import TypedDict

from opendatafabric.errors import NotFound
from repo_server.error_table import ERROR_TYPES, TYPES_PATH
from repo_server.html_response import frame_of, html_response, wants_html
from repo_server.openapi.described import Tag, describes, json_or_page
from repo_server.pages.templates import render
from repo_server.problems import json_response

_HEADERS: Final = {"Cache-Control": "public, max-age=3600", "Vary": "Accept"}
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class ErrorMeaning(TypedDict):
    """What a code means; without a status it has that of the code above it."""

    type: str
    code: str
    title: str
    status: int | None
    remedy: str


@describes(Tag.REPOSITORY, json_or_page(ErrorMeaning), refuses=(HTTPStatus.NOT_FOUND,), shown=True)
async def get_error(request: web.Request) -> web.StreamResponse:
    """``GET /system/errors/{code}``."""
    told = _told(request.match_info["code"])
    if wants_html(request):
        return html_response(render("error.html", frame=frame_of(request), **told))
    return json_response(told, headers=_HEADERS)


def _told(code: str) -> ErrorMeaning:
    kind = ERROR_TYPES.get(code)
    if kind is None:
        raise NotFound("no error is called so", hint=f"a code stands in the `type` of a problem: {TYPES_PATH}CODE")
    remedy = _LINK.sub(r"\1", kind.remedy)
    return {
        "type": f"{TYPES_PATH}{code}",
        "code": code,
        "title": kind.title,
        "status": kind.status,
        "remedy": remedy,
    }
