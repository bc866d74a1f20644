"""How the mirrors are, for administrators."""

from __future__ import annotations

from aiohttp import web

from repo_server.mirror_states import MirrorState, plain_mirror
from repo_server.openapi.described import Tag, describes, json
from repo_server.problems import json_response
from repo_server.services import SERVICES


@describes(Tag.REPOSITORY, json(list[MirrorState]), shown=True)
async def get_mirrors(request: web.Request) -> web.StreamResponse:
    """``GET /system/mirrors``."""
    services = request.app[SERVICES]
    mirrors = services.catalog.mirrors
    now = services.now()
    return json_response([plain_mirror(each, await mirrors.datasets(each.id), now) for each in await mirrors.list()])
