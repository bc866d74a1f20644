"""What a dataset is made of and what is made of it: as JSON, as a page for those who ask for HTML, as a drawing."""

from __future__ import annotations

import asyncio
import hashlib
from http import HTTPStatus
from typing import Final

from aiohttp import web

from catalog.lineage import Reach
from opendatafabric.errors import MalformedInput
from opendatafabric.index_limits import LINEAGE_DEPTH_MAX
from repo_server.gate import VISIT
from repo_server.html_response import VARIES, frame_of, html_response, wants_html
from repo_server.lineage_states import LineageTold, plain_lineage
from repo_server.lineages import lineage_of, look_of
from repo_server.object_response import is_known
from repo_server.openapi.described import NOT_MODIFIED, STRING, Answer, Parameter, Tag, describes, json_or_page
from repo_server.pages.addresses import address_of
from repo_server.pages.lineage_drawing import ALONE_POLICY, NODES_DRAWN_MAX, drawing_of, svg_alone
from repo_server.pages.lineage_page import lineage_page
from repo_server.problems import json_response

_SVG: Final = "image/svg+xml"
_DEPTH: Final = Parameter(
    "depth",
    "how many steps to follow in each direction",
    {"type": "integer", "minimum": 1, "maximum": LINEAGE_DEPTH_MAX},
    value=2,
)


@describes(Tag.REPOSITORY, json_or_page(LineageTold), parameters=(_DEPTH,), shown=True)
async def get_lineage(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/lineage``."""
    found = request[VISIT]
    graph = await lineage_of(found, Reach(depth_max=_depth(request)))
    look = await look_of(found.services, graph)
    if not wants_html(request):
        return json_response(await asyncio.to_thread(plain_lineage, graph, look), headers=VARIES)
    alias = address_of(found.services.settings, found.dataset.entry.alias)
    return html_response(await asyncio.to_thread(lineage_page, alias, graph, look, frame_of(request)))


@describes(Tag.REPOSITORY, Answer({_SVG: STRING}), NOT_MODIFIED, parameters=(_DEPTH,), shown=True)
async def get_svg(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/lineage.svg``."""
    found = request[VISIT]
    graph = await lineage_of(found, Reach(depth_max=_depth(request), nodes_max=NODES_DRAWN_MAX))
    look = await look_of(found.services, graph)
    body = (await asyncio.to_thread(lambda: svg_alone(drawing_of(graph, look)))).encode()
    name = hashlib.sha256(body).hexdigest()
    headers = {**VARIES, "ETag": f'"{name}"', "Content-Security-Policy": ALONE_POLICY}
    if is_known(request, name):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return web.Response(body=body, content_type=_SVG, headers=headers)


def _depth(request: web.Request) -> int:
    text = request.query.get(_DEPTH.name)
    if text is None:
        return LINEAGE_DEPTH_MAX
    if not (text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= LINEAGE_DEPTH_MAX):
        raise MalformedInput("a lineage is followed a number of steps", expected=f"1 to {LINEAGE_DEPTH_MAX}")
    return int(text)
