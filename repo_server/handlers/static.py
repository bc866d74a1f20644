"""The style and the scripts of pages. Their names change with their contents, so they may be kept for ever."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web

from opendatafabric.errors import NotFound
from repo_server.object_response import IMMUTABLE, is_known
from repo_server.openapi.described import NOT_MODIFIED, STRING, Answer, Tag, describes
from repo_server.pages.static_files import FILES

_FORMS: Final = {"text/css": STRING, "text/javascript": STRING, "image/svg+xml": STRING}


@describes(Tag.REPOSITORY, Answer(_FORMS), NOT_MODIFIED, refuses=(HTTPStatus.NOT_FOUND,))
async def get_static(request: web.Request) -> web.StreamResponse:
    """``GET /static/{name}``."""
    found = FILES.get(request.match_info["name"])
    if found is None:
        raise NotFound("there is no such file")
    headers = {"Cache-Control": IMMUTABLE, "ETag": f'"{found.name}"', "Content-Security-Policy": "default-src 'none'"}
    if is_known(request, found.name):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return web.Response(body=found.content, content_type=found.content_type, headers=headers)
