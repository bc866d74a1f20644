"""Signatures of heads, put down before what they sign is pushed, and the hand-over of the key that has to sign."""

from __future__ import annotations

from http import HTTPStatus

from aiohttp import web
from typing_extensions import TypedDict

from opendatafabric.errors import AccessDenied, InvalidSignature, MalformedInput
from opendatafabric.head_signature import HandOver, HeadSignature
from opendatafabric.multihash import Multihash
from repo_server.body import read_json
from repo_server.gate import VISIT
from repo_server.handlers.head_history import PlainPolicy, plain_policy
from repo_server.openapi.described import JSON, Body, Tag, describes, json
from repo_server.problems import json_response
from storage.head_policy import read_policy, write_policy
from storage.head_signatures import add_signature, read_signatures


class PlainSignature(TypedDict):
    """A head of a dataset, signed; docs/formats/head-signatures.md says what the bytes are."""

    datasetId: str
    head: str
    signedAt: str
    key: str
    signature: str


class PlainSignatures(TypedDict):
    """The newest last."""

    signatures: list[PlainSignature]


class PlainHandOver(TypedDict):
    """Signed by the old key; ``newKey`` may be ``nobody``."""

    datasetId: str
    oldKey: str
    newKey: str
    signedAt: str
    signature: str


@describes(Tag.REPOSITORY, json(PlainSignatures), shown=True)
async def get_signatures(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/signatures``."""
    known = await read_signatures(request[VISIT].dataset.entry.dataset.objects)
    return json_response({"signatures": [each.as_dict() for each in known]})


@describes(
    Tag.REPOSITORY, json(PlainSignature), refuses=(HTTPStatus.NOT_IMPLEMENTED,), body=Body({JSON: PlainSignature})
)
async def put_signature(request: web.Request) -> web.StreamResponse:
    """``PUT /{dataset}/signatures/{hash}``: kept, before or after that head is pushed."""
    found = request[VISIT].lying_here()
    signature = HeadSignature.read(await read_json(request, found.services.settings))
    objects = found.dataset.entry.dataset.writable_objects()
    policy = await read_policy(objects)
    if signature.head != Multihash.from_text(request.match_info["hash"]):
        raise MalformedInput("the signature is of another head", found=signature.head)
    if signature.dataset_id != found.dataset.entry.id:
        raise InvalidSignature("the signature is of another dataset", found=signature.dataset_id)
    if policy.signed_by is not None and policy.signed_by != signature.key:
        raise InvalidSignature(
            "another key has to sign", expected=policy.signed_by.did_key, found=signature.key.did_key
        )
    await add_signature(objects, signature)
    return json_response(signature.as_dict())


@describes(Tag.REPOSITORY, json(PlainPolicy), refuses=(HTTPStatus.NOT_IMPLEMENTED,), body=Body({JSON: PlainHandOver}))
async def post_hand_over(request: web.Request) -> web.StreamResponse:
    """``POST /{dataset}/policy/hand-over``: another key signs from now on, or none needs to; said by the one before."""
    found = request[VISIT]
    hand_over = HandOver.read(await read_json(request, found.services.settings))
    objects = found.dataset.entry.dataset.writable_objects()
    policy = await read_policy(objects)
    if hand_over.dataset_id != found.dataset.entry.id or policy.signed_by != hand_over.old_key:
        raise AccessDenied("that key does not sign the heads of this dataset", found=hand_over.old_key.did_key)
    handed = policy.signed_with(hand_over.new_key)
    await write_policy(objects, handed)
    return json_response(plain_policy(handed))
