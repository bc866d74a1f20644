"""The style and the scripts of pages. Their names change with their contents, so they may be kept for ever."""

from __future__ import annotations

from http import HTTPStatus

from aiohttp import web

from repo_server.object_response import IMMUTABLE, is_known
from repo_server.pages.static_files import FILES
from repo_server.problems import message


async def get_static(request: web.Request) -> web.StreamResponse:
    """``GET /static/{name}``."""
    found = FILES.get(request.match_info["name"])
    if found is None:
        return message("there is no such file", HTTPStatus.NOT_FOUND)
    headers = {"Cache-Control": IMMUTABLE, "ETag": f'"{found.name}"', "Content-Security-Policy": "default-src 'none'"}
    if is_known(request, found.name):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return web.Response(body=found.content, content_type=found.content_type, headers=headers)
