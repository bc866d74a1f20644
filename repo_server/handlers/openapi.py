"""The API as it describes itself: as documents, and as a page made of the same."""

from __future__ import annotations

from typing import Any, Final

from aiohttp import web

from repo_server.handlers.health import software_version
from repo_server.html_response import frame_of, html_response
from repo_server.openapi.asyncapi import asyncapi_document
from repo_server.openapi.described import Tag, describes, json, page
from repo_server.openapi.document import openapi_document
from repo_server.pages.api_page import api_page
from repo_server.problems import json_response
from repo_server.route import SERVED
from repo_server.services import SERVICES

_HEADERS: Final = {"Cache-Control": "public, max-age=300"}


@describes(Tag.CORE, json({"type": "object"}), shown=True)
async def get_openapi_json(request: web.Request) -> web.StreamResponse:
    """``GET /openapi.json``."""
    return json_response(_document(request), headers=_HEADERS)


@describes(Tag.CORE, json({"type": "object"}), shown=True)
async def get_asyncapi_json(request: web.Request) -> web.StreamResponse:
    """``GET /asyncapi.json``."""
    document = asyncapi_document(request.app[SERVED], request.app[SERVICES].base_url, software_version())
    return json_response(document, headers=_HEADERS)


@describes(Tag.CORE, page(), shown=True)
async def get_openapi_page(request: web.Request) -> web.StreamResponse:
    """``GET /openapi``."""
    return html_response(api_page(_document(request), frame_of(request)))


def _document(request: web.Request) -> dict[str, Any]:
    return openapi_document(request.app[SERVED], request.app[SERVICES].base_url, software_version())
