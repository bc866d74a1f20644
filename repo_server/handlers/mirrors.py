"""How the mirrors are, for administrators."""

from __future__ import annotations

from aiohttp import web

from repo_server.mirror_states import plain_mirror
from repo_server.problems import json_response
from repo_server.services import SERVICES


async def get_mirrors(request: web.Request) -> web.StreamResponse:
    """``GET /system/mirrors``."""
    services = request.app[SERVICES]
    mirrors = services.catalog.mirrors
    now = services.now()
    return json_response([plain_mirror(each, await mirrors.datasets(each.id), now) for each in await mirrors.list()])
