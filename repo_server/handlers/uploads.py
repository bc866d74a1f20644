"""Resumable uploads: begin, continue at an offset, the last bytes publish the object.

An extension of ours: ``Upload-Length`` says how many bytes there will be, ``Upload-Offset`` how many are safe. A cut
connection keeps what came; ask for the offset and go on from there.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web

from catalog.amounts import QuotaExceeded
from catalog.quotas import Wish
from opendatafabric.errors import UnsupportedOperation
from opendatafabric.layout import CHECKPOINTS, DATA, parse_key
from repo_server.body import announced_length, pieces_of
from repo_server.gate import VISIT, Refused, Visit
from repo_server.handlers.simple import hash_of, size_of
from repo_server.openapi.described import BINARY, BYTES, Body, Parameter, Tag, describes, empty
from repo_server.problems import plain
from storage.local.objects import LocalObjectStore
from storage.uploads import Upload, Uploads
from storage.wrappers.passing import innermost

LENGTH: Final = "Upload-Length"
OFFSET: Final = "Upload-Offset"
COMPLETE: Final = "Upload-Complete"
_NUMBER_CHARS_MAX: Final = 18


_NOT_LOCAL: Final = (HTTPStatus.NOT_IMPLEMENTED,)
_AT: Final = Parameter(OFFSET, "how many bytes are there already", {"type": "integer"}, "header", required=True)
_SIZE: Final = Parameter(LENGTH, "how many bytes there will be", {"type": "integer"}, "header", 1024, required=True)
_GOES_ON: Final = empty(HTTPStatus.NO_CONTENT, "there are more to come from `Upload-Offset` on")
appends: Final = describes(
    Tag.TRANSFER,
    empty(says="complete"),
    _GOES_ON,
    refuses=(HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND, HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.INSUFFICIENT_STORAGE),
    parameters=(_AT,),
    body=Body({BYTES: BINARY}),
)


@describes(
    Tag.TRANSFER,
    empty(HTTPStatus.CREATED, "begun; `Location` is where to send the bytes"),
    empty(says="the object is here already"),
    refuses=(*_NOT_LOCAL, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.INSUFFICIENT_STORAGE),
    parameters=(_SIZE,),
    shown=True,
)
async def begin(request: web.Request) -> web.StreamResponse:
    """``POST uploads/{data|checkpoints}/{hash}``: 201 with ``Location``, or 200 when the object is here already."""
    found = request[VISIT]
    if request.match_info["kind"] not in {DATA, CHECKPOINTS}:
        raise Refused(plain("Not Found", HTTPStatus.NOT_FOUND))
    key = f"{request.match_info['kind']}/{hash_of(request)}"
    size = number_in(request, LENGTH)
    if await size_of(found.dataset.entry.dataset.objects, key) == size:
        return web.Response(headers={OFFSET: str(size), COMPLETE: "?1"})
    uploads, services = _uploads(found), found.services
    upload = await uploads.begin(key, size=size, size_max=services.settings.object_bytes_max, now=services.now())
    await _make_room(found, uploads, upload)
    place = request.path.removesuffix(f"{request.match_info['kind']}/{request.match_info['hash']}")
    return web.Response(status=HTTPStatus.CREATED, headers={**state_of(upload), "Location": f"{place}{upload.id}"})


@describes(Tag.TRANSFER, _GOES_ON, refuses=_NOT_LOCAL)
async def look(request: web.Request) -> web.StreamResponse:
    """``GET`` or ``HEAD uploads/{id}``: the offset."""
    found = request[VISIT]
    upload = await _uploads(found).find(request.match_info["upload"], now=found.services.now())
    return web.Response(status=HTTPStatus.NO_CONTENT, headers=state_of(upload))


@appends
async def append(request: web.Request) -> web.StreamResponse:
    """``PATCH uploads/{id}``: more bytes from ``Upload-Offset`` on; 204 while there are some to come, then 200."""
    found = request[VISIT]
    settings, uploads, now = found.services.settings, _uploads(found), found.services.now
    offset = number_in(request, OFFSET)
    announced_length(request, settings.object_bytes_max)
    pieces = pieces_of(request, settings)
    upload = await uploads.append(request.match_info["upload"], pieces, offset=offset, now=now())
    await found.services.meter.renew(_room_of(upload.id), lease_s=settings.upload_lease_s)
    if upload.offset < upload.size:
        return web.Response(status=HTTPStatus.NO_CONTENT, headers=state_of(upload))
    _, physical_hash = parse_key(upload.key)
    await uploads.finish(upload.id, expected_hash=physical_hash, now=now())
    await found.services.meter.settle(_room_of(upload.id), found.dataset.entry.id)
    return web.Response(headers={OFFSET: str(upload.size), COMPLETE: "?1"})


@describes(Tag.TRANSFER, empty(HTTPStatus.NO_CONTENT), refuses=_NOT_LOCAL)
async def cancel(request: web.Request) -> web.StreamResponse:
    """``DELETE uploads/{id}``."""
    found = request[VISIT]
    await _uploads(found).cancel(request.match_info["upload"])
    await found.services.meter.give_back(_room_of(request.match_info["upload"]))
    return web.Response(status=HTTPStatus.NO_CONTENT)


async def _make_room(found: Visit, uploads: Uploads, upload: Upload) -> None:
    """Room as long as the upload lives, unless a push keeps it; without room it ends."""
    meter, dataset = found.services.meter, found.dataset
    if await meter.keeps_room_for(dataset.entry.id, upload.key, upload.size):
        return
    wish = Wish(dataset.entry.id, dataset.record.owner_id, {upload.key: upload.size})
    try:
        lease_s = found.services.settings.upload_lease_s
        await meter.reserve(wish, lease_s=lease_s, reservation_id=_room_of(upload.id))
    except QuotaExceeded:
        await uploads.cancel(upload.id)
        raise


def _room_of(upload_id: str) -> str:
    return f"upload-{upload_id}"


def _uploads(found: Visit) -> Uploads:
    store = innermost(found.dataset.entry.dataset.objects)
    if not isinstance(store, LocalObjectStore):
        raise UnsupportedOperation("this dataset takes no resumable uploads", hint="put the object in one piece")
    return Uploads(store, lease_s=found.services.settings.upload_lease_s)


def state_of(upload: Upload) -> dict[str, str]:
    """How far an upload came, for its client."""
    return {OFFSET: str(upload.offset), LENGTH: str(upload.size), COMPLETE: "?0", "Cache-Control": "no-store"}


def number_in(request: web.Request, header: str) -> int:
    """A count of bytes in a header; a missing or malformed one is answered 400."""
    text = request.headers.get(header, "")
    if not (text.isascii() and text.isdecimal() and len(text) <= _NUMBER_CHARS_MAX):
        raise Refused(plain(f"Header {header} is missing or no number", HTTPStatus.BAD_REQUEST))
    return int(text)
