"""The API as it describes itself."""

from __future__ import annotations

from aiohttp import web

from repo_server.handlers.health import software_version
from repo_server.openapi.described import Tag, describes, json
from repo_server.openapi.document import openapi_document
from repo_server.problems import json_response
from repo_server.route import SERVED
from repo_server.services import SERVICES

_HEADERS = {"Cache-Control": "public, max-age=300"}


@describes(Tag.CORE, json({"type": "object"}), shown=True)
async def get_openapi_json(request: web.Request) -> web.StreamResponse:
    """``GET /openapi.json``."""
    application = request.app
    document = openapi_document(application[SERVED], application[SERVICES].base_url, software_version())
    return json_response(document, headers=_HEADERS)
