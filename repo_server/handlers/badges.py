"""Badges: how a dataset stands, for whoever may read it, to be shown elsewhere."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import orjson
from aiohttp import web
from typing_extensions import TypedDict

from catalog.visibility import Visibility
from repo_server.gate import VISIT, Visit
from repo_server.object_response import is_known
from repo_server.openapi.described import NOT_MODIFIED, STRING, Answer, Tag, describes, json
from repo_server.pages.badge import badge_json, badge_svg
from verify.standing import Standing, standing_of

_FRESH_S: Final = 60
_SVG: Final = "image/svg+xml"


class Badge(TypedDict):
    """What the endpoint badge of shields.io reads."""

    schemaVersion: int
    label: str
    message: str
    color: str
    isError: bool
    cacheSeconds: int


@describes(Tag.REPOSITORY, Answer({_SVG: STRING}), NOT_MODIFIED, shown=True)
async def get_svg(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/badge.svg``."""
    standing = await _standing(request[VISIT])
    return _answer(request, standing, badge_svg(standing).encode(), _SVG)


@describes(Tag.REPOSITORY, json(Badge), NOT_MODIFIED, shown=True)
async def get_json(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/badge.json``."""
    standing = await _standing(request[VISIT])
    return _answer(request, standing, orjson.dumps(badge_json(standing, fresh_s=_FRESH_S)), "application/json")


async def _standing(found: Visit) -> Standing:
    entry = found.dataset.entry
    return standing_of(await found.services.catalog.reports.last(entry.id), await entry.dataset.head())


def _answer(request: web.Request, standing: Standing, body: bytes, content_type: str) -> web.Response:
    public = request[VISIT].dataset.record.visibility is Visibility.PUBLIC
    fresh = f"public, max-age={_FRESH_S}" if public else "private, no-cache"
    headers = {"Cache-Control": fresh, "ETag": f'"{standing.value}"', "Content-Security-Policy": "default-src 'none'"}
    if is_known(request, standing.value):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return web.Response(body=body, content_type=content_type, headers=headers)
