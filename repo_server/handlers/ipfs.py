"""The gateway to what is published to IPFS: blocks and archives that prove themselves, and files by path.

Follows the trustless gateway specification; of the path gateway only files of our own datasets, sent as attachments,
since their contents are the users'. No other content is ever looked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from aiohttp import web
from typing_extensions import TypedDict

from opendatafabric.errors import MalformedIdentifier, NotFound, ObjectNotFound
from opendatafabric.ipfs.car import car_header, car_section, write_car
from opendatafabric.ipfs.cid import Block, Cid, Codec, HashFunction
from opendatafabric.ipfs.ipns import IpnsName
from opendatafabric.ipfs.unixfs import Kind, read_unixfs
from opendatafabric.ipfs.walk import WHOLE, Range, Scope, file_size, resolve, walk_dag
from opendatafabric.limits import OBJECT_BYTES_MAX
from repo_server.gate import CALLER, VISIT, Refused
from repo_server.ipfs.asked import MEDIA_TYPES, EntityBytes, Form, entity_bytes_of, form_of, scope_of
from repo_server.ipfs.provider import Found, Shelf
from repo_server.ipfs.publishing import TTL_S
from repo_server.object_response import is_known, send_object
from repo_server.openapi.described import BINARY, BYTES, NOT_MODIFIED, Answer, Parameter, Tag, describes, empty, json
from repo_server.piece_response import send_pieces
from repo_server.problems import json_response, message
from repo_server.services import SERVICES
from storage.hashing_stream import gathered
from storage.ipfs.blocks import run_walk, walked

IMMUTABLE: Final = "public, max-age=29030400, immutable"
CHANGING: Final = f"public, max-age={TTL_S}"
_NOTHING: Final = Cid(Codec.RAW, HashFunction.IDENTITY, b"")
"""The root of an archive that proves an absence, as boxo has it."""

_CAR: Final = f"{MEDIA_TYPES[Form.CAR]}; version=1; order=dfs; dups=y"


@dataclass(frozen=True, slots=True)
class _Asked:
    """A path that was asked for: names under a root, and how it is called in headers."""

    shelf: Shelf
    root: Cid
    parts: Sequence[str]
    path: str
    caching: str


class Published(TypedDict):
    """Where a dataset lies in IPFS."""

    root: str
    head: str
    name: str
    sequence: int


_FORMS: Final = dict.fromkeys((BYTES, *MEDIA_TYPES.values()), BINARY)
_gives_content: Final = describes(
    Tag.IPFS,
    Answer(_FORMS),
    Answer(_FORMS, HTTPStatus.PARTIAL_CONTENT),
    NOT_MODIFIED,
    empty(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE),
    refuses=(HTTPStatus.NOT_FOUND, HTTPStatus.NOT_ACCEPTABLE, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    parameters=(
        Parameter("format", "the form", {"enum": [form.value for form in MEDIA_TYPES]}),
        Parameter("dag-scope", "how much of an archive", {"enum": [scope.value for scope in Scope]}),
        Parameter("entity-bytes", "some bytes of a file in an archive: `from:to`"),
    ),
)
gives_record: Final = describes(
    Tag.IPFS, Answer({MEDIA_TYPES[Form.RECORD]: BINARY}), NOT_MODIFIED, refuses=(HTTPStatus.NOT_FOUND,)
)


@_gives_content
async def get_ipfs(request: web.Request) -> web.StreamResponse:
    """``GET /ipfs/{cid}`` and ``GET /ipfs/{cid}/{path}``."""
    shelf = shelf_of(request)
    root = cid_of(request)
    return await _answer(request, _Asked(shelf, root, _parts(request), _path(request, "ipfs"), IMMUTABLE))


@_gives_content
async def get_ipns(request: web.Request) -> web.StreamResponse:
    """``GET /ipns/{name}`` and ``GET /ipns/{name}/{path}``."""
    shelf = shelf_of(request)
    record = await shelf.record_of(ipns_name_of(request))
    if form_of(request) is Form.RECORD:
        return record_response(request, record.name, record.signed)
    root = Cid.from_text(record.value.rpartition("/")[2])
    return await _answer(request, _Asked(shelf, root, _parts(request), _path(request, "ipns"), CHANGING))


@describes(Tag.IPFS, json(Published))
async def get_published(request: web.Request) -> web.StreamResponse:
    """``GET {dataset}/ipfs``: under which CID and name the dataset lies in IPFS."""
    found = request[VISIT]
    services, dataset_id = found.services, found.dataset.entry.id
    tree = await services.catalog.ipfs.latest_tree(dataset_id) if services.publisher else None
    record = await services.catalog.ipns.of_dataset(dataset_id)
    if tree is None or record is None:
        raise NotFound(
            "the dataset is not published to IPFS", hint="it must be public, and the server run with ODF_IPFS_PROVIDER"
        )
    return json_response(
        {"root": str(tree.root.cid), "head": str(tree.head), "name": record.name, "sequence": record.sequence}
    )


def shelf_of(request: web.Request) -> Shelf:
    """What the caller of ``request`` may read."""
    return Shelf(request.app[SERVICES], request[CALLER])


def cid_of(request: web.Request) -> Cid:
    """The CID in the path; a malformed one is answered 400."""
    try:
        return Cid.from_text(request.match_info["cid"])
    except MalformedIdentifier as error:
        raise Refused(message(error.message, HTTPStatus.BAD_REQUEST)) from None


def ipns_name_of(request: web.Request) -> IpnsName:
    """The IPNS name in the path; a malformed one is answered 400."""
    try:
        return IpnsName.from_text(request.match_info["name"])
    except MalformedIdentifier as error:
        raise Refused(message(error.message, HTTPStatus.BAD_REQUEST)) from None


def record_response(request: web.Request, name: str, signed: bytes) -> web.Response:
    """A signed record."""
    etag = hashlib.sha256(signed).hexdigest()[:32]
    headers = {
        "Content-Type": MEDIA_TYPES[Form.RECORD],
        "Content-Disposition": f'attachment; filename="{name}.ipns-record"',
        "Cache-Control": CHANGING,
        "ETag": f'"{etag}"',
        "Vary": "Accept",
    }
    if is_known(request, etag):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return web.Response(body=signed, headers=headers)


async def _answer(request: web.Request, asked: _Asked) -> web.StreamResponse:
    form = form_of(request)
    if form is Form.RECORD:
        raise Refused(message("a record has a name of IPNS, not a CID", HTTPStatus.BAD_REQUEST))
    way: list[Block] = []
    try:
        target, _ = await run_walk(resolve(asked.root, asked.parts), asked.shelf.read, way)
    except ObjectNotFound:
        raise
    except NotFound:
        if form is not Form.CAR:
            raise
        return await _send_absence(request, asked, way)
    if form is Form.CAR:
        return await _send_car(request, asked, target, way)
    return await (_send_block if form is Form.RAW else _send_file)(request, asked, target)


async def _send_block(request: web.Request, asked: _Asked, cid: Cid) -> web.StreamResponse:
    found = await asked.shelf.find_block(cid)
    headers = _headers(asked, cid, f"{cid}.bin") | {"Content-Type": MEDIA_TYPES[Form.RAW]}
    if found is not None and found.is_object:
        return await _send_object(request, found, f"{cid}.raw", headers)
    return _send_bytes(request, await asked.shelf.read(cid), f"{cid}.raw", headers)


async def _send_file(request: web.Request, asked: _Asked, cid: Cid) -> web.StreamResponse:
    found = await asked.shelf.find_file(cid) or await asked.shelf.find_block(cid)
    name = asked.parts[-1] if asked.parts else str(cid)
    headers = _headers(asked, cid, name) | {"Content-Type": "application/octet-stream"}
    if found is not None and found.is_object:
        return await _send_object(request, found, str(cid), headers)
    block = await asked.shelf.read(cid)
    if read_unixfs(cid, block).kind is not Kind.RAW:
        raise Refused(message("folders are given out as raw or car", HTTPStatus.NOT_ACCEPTABLE))
    return _send_bytes(request, block, str(cid), headers)


async def _send_object(request: web.Request, found: Found, etag: str, headers: dict[str, str]) -> web.StreamResponse:
    key = found.place.key
    path = found.objects.local_path(key)
    if path is not None:
        return await send_object(request, path, etag, is_public=True, headers=headers)
    size = (await found.objects.stat(key)).size
    return await send_pieces(request, found.objects.stream(key), headers | {"ETag": f'"{etag}"'}, size=size)


def _send_bytes(request: web.Request, data: bytes, etag: str, headers: dict[str, str]) -> web.Response:
    headers = headers | {"ETag": f'"{etag}"'}
    if is_known(request, etag):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return web.Response(body=data, headers=headers)


async def _send_car(request: web.Request, asked: _Asked, target: Cid, way: Sequence[Block]) -> web.StreamResponse:
    scope, entity = scope_of(request), entity_bytes_of(request)
    if not await asked.shelf.has(target):
        raise ObjectNotFound(f"{target} is not here")
    wanted = await _range(asked.shelf, target, entity) if entity and scope is Scope.ENTITY else WHOLE
    varies = f"{asked.path} {scope.value} {wanted}".encode()
    etag = f"{target}.car.{hashlib.sha256(varies).hexdigest()[:16]}"
    headers = _headers(asked, target, f"{target}.car")
    headers |= {"Content-Type": _CAR, "ETag": f'W/"{etag}"', "Accept-Ranges": "none"}
    if is_known(request, etag):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    pieces = _car_pieces(asked.shelf, target, way, scope, wanted)
    return await send_pieces(request, gathered(pieces, size_max=OBJECT_BYTES_MAX), headers)


async def _send_absence(request: web.Request, asked: _Asked, way: Sequence[Block]) -> web.StreamResponse:
    """The blocks that prove that there is no such path: who asks for an archive does not take our word for it."""
    headers = _headers(asked, _NOTHING, f"{asked.root}.car") | {"Content-Type": _CAR, "Accept-Ranges": "none"}
    body = b"".join(write_car([_NOTHING], way))
    return web.Response(body=body, headers=headers)


async def _car_pieces(
    shelf: Shelf, target: Cid, way: Sequence[Block], scope: Scope, wanted: Range
) -> AsyncIterator[bytes]:
    yield car_header([target])
    for block in way:
        yield car_section(block.cid, len(block.data)) + block.data
    async for block in walked(walk_dag(target, scope, wanted), shelf.read):
        yield car_section(block.cid, len(block.data)) + block.data


async def _range(shelf: Shelf, target: Cid, entity: EntityBytes) -> Range:
    try:
        size, _ = await run_walk(file_size(target), shelf.read)
    except NotFound:
        return WHOLE  # of a folder there are no bytes to choose from
    return entity.of(size)


def _headers(asked: _Asked, cid: Cid, filename: str) -> dict[str, str]:
    safe = "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in filename)
    return {
        "Cache-Control": asked.caching,
        "Content-Disposition": f'attachment; filename="{safe}"',
        "Vary": "Accept",
        "X-Ipfs-Path": asked.path,
        "X-Ipfs-Roots": str(cid),
    }


def _parts(request: web.Request) -> list[str]:
    return [part for part in request.match_info.get("path", "").split("/") if part]


def _path(request: web.Request, kind: str) -> str:
    # As it came, still encoded: it goes back into a header.
    return "/" + kind + request.raw_path.partition("?")[0].partition(f"/{kind}")[2]
