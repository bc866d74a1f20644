"""The simple transfer protocol: refs, blocks and objects by name; objects may be put."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

from aiohttp import web

from catalog.permissions import Access
from catalog.visibility import Visibility
from opendatafabric.block_ref import HEAD, STAGING
from opendatafabric.errors import MalformedIdentifier, ObjectNotFound, StorageError
from opendatafabric.layout import BLOCKS, CHECKPOINTS, DATA
from opendatafabric.multihash import Multihash
from repo_server.body import announced_length, pieces_of
from repo_server.gate import VISIT, Refused, Visit
from repo_server.object_response import send_object
from repo_server.openapi.described import (
    BINARY,
    BYTES,
    NOT_MODIFIED,
    STRING,
    TEXT,
    Answer,
    Body,
    Parameter,
    Tag,
    describes,
    empty,
)
from repo_server.openapi.parameters import EXAMPLE_BLOCK
from repo_server.problems import message, worded
from repo_server.stored_response import send_stored
from storage.protocols import ObjectReader
from storage.quarantine import receive_object


def access_to_ref(request: web.Request) -> Access:
    """What waits behind a gate is for those who may write."""
    return Access.WRITE if request.match_info["ref"] == STAGING else Access.READ


_RANGE: Final = Parameter("Range", "one range of bytes", place="header", value="bytes=0-99")
_KNOWN: Final = Parameter("If-None-Match", "the `ETag` that the caller has", place="header")
_BYTES: Final = {BYTES: BINARY}
_GIVEN: Final = (
    Answer(_BYTES),
    Answer(_BYTES, HTTPStatus.PARTIAL_CONTENT),
    NOT_MODIFIED,
    empty(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, "the range lies outside"),
)
_takes_bytes: Final = describes(
    Tag.TRANSFER,
    empty(says="stored, or here already"),
    refuses=(HTTPStatus.INSUFFICIENT_STORAGE, HTTPStatus.NOT_IMPLEMENTED),
    body=Body(_BYTES),
)


@describes(
    Tag.TRANSFER, Answer({TEXT: STRING}, says="the hash of a block"), NOT_MODIFIED, parameters=(_KNOWN,), shown=True
)
async def get_ref(request: web.Request) -> web.StreamResponse:
    """``GET refs/{ref}``: the hash as 69 bytes of text."""
    found, block_ref = request[VISIT], request.match_info["ref"]
    if block_ref not in {HEAD, STAGING}:
        return message("Specified block reference not found", HTTPStatus.NOT_FOUND)
    head = await _head_of(found, block_ref)
    if head is None:
        return web.Response(status=HTTPStatus.NOT_FOUND)
    headers = {"ETag": f'"{head}"', "Cache-Control": "no-cache", **await _freshness(found)}
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return web.Response(text=str(head), headers=headers)


@describes(Tag.TRANSFER, *_GIVEN, parameters=(_RANGE, _KNOWN), shown={"hash": EXAMPLE_BLOCK})
async def get_block(request: web.Request) -> web.StreamResponse:
    """``GET blocks/{hash}``: the bytes that were pushed."""
    return await _get(request, BLOCKS)


@describes(Tag.TRANSFER, *_GIVEN, parameters=(_RANGE, _KNOWN), shown=True)
async def get_data(request: web.Request) -> web.StreamResponse:
    """``GET data/{hash}``."""
    return await _get(request, DATA)


@describes(Tag.TRANSFER, *_GIVEN, parameters=(_RANGE, _KNOWN))
async def get_checkpoint(request: web.Request) -> web.StreamResponse:
    """``GET checkpoints/{hash}``."""
    return await _get(request, CHECKPOINTS)


@_takes_bytes
async def put_data(request: web.Request) -> web.StreamResponse:
    """``PUT data/{hash}``."""
    return await _put(request, DATA)


@_takes_bytes
async def put_checkpoint(request: web.Request) -> web.StreamResponse:
    """``PUT checkpoints/{hash}``."""
    return await _put(request, CHECKPOINTS)


async def _freshness(found: Visit) -> dict[str, str]:
    upstream = found.dataset.upstream
    return {} if upstream is None else upstream.headers(await upstream.told())


async def _head_of(found: Visit, block_ref: str) -> Multihash | None:
    try:
        return await found.dataset.entry.dataset.head(block_ref)
    except MalformedIdentifier as error:  # what lies on our disk is no fault of whoever asks
        raise StorageError(f"the {block_ref} of {found.alias} is damaged", hint="odf fsck") from error


async def _get(request: web.Request, folder: str) -> web.StreamResponse:
    found, physical_hash = request[VISIT], hash_of(request)
    entry = found.dataset.entry
    objects, key = entry.dataset.objects, f"{folder}/{physical_hash}"
    path = objects.local_path(key)
    is_public = found.dataset.record.visibility is Visibility.PUBLIC
    try:
        if path is None:
            return await send_stored(request, objects, key, is_public=is_public)
        return await send_object(request, path, str(physical_hash), is_public=is_public)
    except ObjectNotFound:
        return _not_here(folder, physical_hash)


async def _put(request: web.Request, folder: str) -> web.StreamResponse:
    found, physical_hash = request[VISIT], hash_of(request)
    settings = found.services.settings
    length = announced_length(request, settings.object_bytes_max)
    store = found.dataset.entry.dataset.writable_objects()
    key = f"{folder}/{physical_hash}"
    # What is here already is replaced: a damaged copy is healed by whoever sends a sound one.
    async with room_for(found, key, length):
        await receive_object(
            store,
            key,
            pieces_of(request, settings),
            expected_hash=physical_hash,
            expected_size=length,
            size_max=settings.object_bytes_max,
        )
    return web.Response()


@asynccontextmanager
async def room_for(found: Visit, key: str, size: int) -> AsyncIterator[None]:
    """Room for an object while it comes; one that is here needs none. ``QuotaExceeded`` when there is none."""
    entry, meter = found.dataset.entry, found.services.meter
    if await size_of(entry.dataset.objects, key) == size:
        yield
        return
    async with meter.for_object(found.dataset.record.owner_id, entry.id, key, size):
        yield


async def size_of(objects: ObjectReader, key: str) -> int | None:
    """Of an object, if it is here."""
    try:
        return (await objects.stat(key)).size
    except ObjectNotFound:
        return None


def hash_of(request: web.Request) -> Multihash:
    """The hash in the path; a malformed one is answered 400."""
    try:
        return Multihash.from_text(request.match_info["hash"])
    except MalformedIdentifier as error:
        raise Refused(worded(error, HTTPStatus.BAD_REQUEST)) from None


def _not_here(folder: str, physical_hash: Multihash) -> web.Response:
    what = "block" if folder == BLOCKS else "object"
    return message(f"{what} {physical_hash} is not here", HTTPStatus.NOT_FOUND)
