"""How the node is as a whole, on a page for administrators."""

from __future__ import annotations

from aiohttp import web

from repo_server.handlers.health import what_is_wrong
from repo_server.html_response import frame_of, html_response
from repo_server.openapi.described import Tag, describes, page
from repo_server.pages.operator_pages import admin_page
from repo_server.services import SERVICES


@describes(Tag.PAGES, page())
async def get_admin(request: web.Request) -> web.StreamResponse:
    """``GET /v/admin``."""
    services = request.app[SERVICES]
    catalog, wrong = services.catalog, await what_is_wrong(services)
    shown = admin_page(
        await catalog.accounts.list(),
        await catalog.job_totals.by_kind(),
        await catalog.standings.totals(),
        [] if wrong is None else [wrong],
        frame_of(request),
        unindexed=services.indexing.left,
    )
    return html_response(shown)
