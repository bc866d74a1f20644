"""Delegated routing, version 1: who has a CID, and what a name points to, for what is published here (HTTP routing
specification). The one provider that is ever named is this server."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import orjson
from aiohttp import web

from repo_server.handlers.ipfs import CHANGING, cid_of, gives_record, ipns_name_of, record_response, shelf_of
from repo_server.ipfs.multiaddr import http_multiaddr
from repo_server.openapi.described import JSON, STRING, Answer, Tag, describes
from repo_server.services import Services

PROTOCOL: Final = "transport-ipfs-gateway-http"
_NDJSON: Final = "application/x-ndjson"
_PROVIDERS: Final = {"type": "object", "required": ["Providers"], "properties": {"Providers": {"type": "array"}}}
_LISTED: Final = {JSON: _PROVIDERS, _NDJSON: STRING}


@describes(Tag.IPFS, Answer(_LISTED), Answer(_LISTED, HTTPStatus.NOT_FOUND, "nobody"))
async def get_providers(request: web.Request) -> web.StreamResponse:
    """``GET /routing/v1/providers/{cid}``."""
    shelf = shelf_of(request)
    cid, asked = cid_of(request), request.query.get("filter-protocols", PROTOCOL).split(",")
    known = PROTOCOL in asked and await shelf.has(cid)
    providers = [_this_server(shelf.services)] if known else []
    status = HTTPStatus.OK if providers else HTTPStatus.NOT_FOUND
    headers = {"Cache-Control": CHANGING, "Vary": "Accept"}
    if _NDJSON in request.headers.get("Accept", ""):
        lines = b"".join(orjson.dumps(each) + b"\n" for each in providers)
        return web.Response(body=lines, status=status, content_type=_NDJSON, headers=headers)
    body = orjson.dumps({"Providers": providers})
    return web.Response(body=body, status=status, content_type="application/json", headers=headers)


@gives_record
async def get_ipns_record(request: web.Request) -> web.StreamResponse:
    """``GET /routing/v1/ipns/{name}``."""
    shelf = shelf_of(request)
    record = await shelf.record_of(ipns_name_of(request))
    return record_response(request, record.name, record.signed)


def _this_server(services: Services) -> dict[str, Any]:
    assert services.publisher is not None  # the routes are there only with it
    return {
        "Schema": "peer",
        "ID": services.publisher.keys.peer_id,
        "Addrs": [http_multiaddr(services.base_url)],
        "Protocols": [PROTOCOL],
    }
