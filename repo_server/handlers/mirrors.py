"""How the mirrors are, for administrators."""

from __future__ import annotations

from aiohttp import web

from repo_server.html_response import VARIES, frame_of, html_response, wants_html
from repo_server.mirror_states import MirrorState, plain_mirror
from repo_server.openapi.described import Tag, describes, json_or_page
from repo_server.pages.operator_pages import mirrors_page
from repo_server.problems import json_response
from repo_server.services import SERVICES


@describes(Tag.REPOSITORY, json_or_page(list[MirrorState]), shown=True)
async def get_mirrors(request: web.Request) -> web.StreamResponse:
    """``GET /system/mirrors``."""
    services = request.app[SERVICES]
    mirrors = services.catalog.mirrors
    now = services.now()
    told = [plain_mirror(each, await mirrors.datasets(each.id), now) for each in await mirrors.list()]
    if wants_html(request):
        lags = {each["id"]: await services.catalog.mirror_lags.of(each["id"]) for each in told}
        return html_response(mirrors_page(told, lags, frame_of(request), now=now))
    return json_response(told, headers=VARIES)
