"""Signed verdicts on a dataset, for whoever may read it; and the keys they are signed with, for everybody."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from opendatafabric.attestation.document import key_document
from opendatafabric.multihash import Multihash
from repo_server.attestation_states import AttestationList, plain_attestations
from repo_server.gate import VISIT
from repo_server.openapi.described import Parameter, Tag, describes, json
from repo_server.problems import json_response
from repo_server.services import SERVICES
from verify.attestation.node_key import published_keys

_KEYS_FRESH_S: Final = 300
_KEYS: Final = {"type": "object", "required": ["keys"], "properties": {"keys": {"type": "array"}}}
_HEAD: Final = Parameter("head", "only those of this head")


@describes(Tag.REPOSITORY, json(AttestationList), parameters=(_HEAD,), shown=True)
async def get_attestations(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/attestations``, with ``?head=`` those of one head alone."""
    found = request[VISIT]
    attestations = found.services.catalog.attestations
    return json_response(plain_attestations(await attestations.list(found.dataset.entry.id, head=_head(request))))


@describes(Tag.REPOSITORY, json(_KEYS, says="a JSON Web Key Set"), shown=True)
async def get_keys(request: web.Request) -> web.StreamResponse:
    """``GET /.well-known/odf-attestation-keys``: what it says is public everywhere."""
    keys = await published_keys(request.app[SERVICES].catalog.attestation_keys)
    headers = {"Cache-Control": f"public, max-age={_KEYS_FRESH_S}"}
    return json_response(key_document(keys), headers=headers)


def _head(request: web.Request) -> Multihash | None:
    return Multihash.from_text(request.query["head"]) if "head" in request.query else None
