"""Files that are sent first and ingested later, by a token: in one form as the reference has it, or piece by piece.

``PATCH`` at an offset is an extension of ours, with the headers of resumable uploads of objects.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from aiohttp import BodyPartReader, web
from typing_extensions import TypedDict

from catalog.accounts import Account
from opendatafabric.errors import AccessDenied, LimitExceeded, MalformedInput, SizeMismatch
from opendatafabric.limits import FILE_UPLOADS_MAX, READ_CHUNK_BYTES
from repo_server.body import announced_length, patiently, pieces_of
from repo_server.gate import CALLER
from repo_server.handlers.uploads import COMPLETE, LENGTH, OFFSET, appends, number_in, state_of
from repo_server.openapi.described import BINARY, BYTES, Answer, Body, Parameter, Tag, describes, empty, json
from repo_server.problems import json_response
from repo_server.services import SERVICES, Services
from repo_server.upload_tokens import FileUpload, checked_name, token_of, upload_id_in
from storage.uploads import Upload, Uploads

_FORM_BYTES_MAX: Final = 64 * 1024
"""What a form has besides the file: its boundaries and headers."""


_ABSENT: Final = (HTTPStatus.NOT_FOUND,)
_FORM: Final = {"type": "object", "required": ["file"], "properties": {"file": BINARY}}


class UploadPlace(TypedDict):
    """Where a file goes, and the token to ingest it by."""

    uploadUrl: str
    method: str
    useMultipart: bool
    headers: list[list[str]]
    fields: list[Any]
    uploadToken: str


@describes(
    Tag.KAMU,
    json(UploadPlace),
    refuses=(HTTPStatus.REQUEST_ENTITY_TOO_LARGE,),
    parameters=(
        Parameter("fileName", "what the file is called", value="cities.csv", required=True),
        Parameter("contentLength", "its bytes", {"type": "integer", "minimum": 0}, value=1024, required=True),
        Parameter("contentType", "its format, if its name does not say it", value="text/csv"),
    ),
    shown=True,
)
async def prepare(request: web.Request) -> web.StreamResponse:
    """``POST /platform/file/upload/prepare``: where the file goes, and the token to name it by."""
    services = request.app[SERVICES]
    account, bearer = _account_of(request), request[CALLER].token
    length = request.query.get("contentLength", "")
    if not (length.isascii() and length.isdecimal() and len(length) < len(str(2**63))):
        raise MalformedInput("contentLength is missing or no number")
    content_type = request.query.get("contentType")
    file = FileUpload(
        checked_name(request.query.get("fileName", "")),
        account.id,
        None if content_type is None else checked_name(content_type),
    )
    token = token_of(await _begun(services, file, int(length)))
    return json_response(
        {
            "uploadUrl": f"{services.base_url}/platform/file/upload/{token}",
            "method": "POST",
            "useMultipart": True,
            "headers": [["Authorization", f"Bearer {bearer}"]],
            "fields": [],
            "uploadToken": token,
        }
    )


@describes(Tag.KAMU, empty(), refuses=(*_ABSENT, HTTPStatus.CONFLICT), body=Body({"multipart/form-data": _FORM}))
async def post_form(request: web.Request) -> web.StreamResponse:
    """``POST /platform/file/upload/{token}``: the whole file as the part ``file`` of a form."""
    uploads, upload = await _own(request)
    services = request.app[SERVICES]
    announced_length(request, upload.size + _FORM_BYTES_MAX)
    part = await _file_part(request)
    pieces = patiently(lambda: part.read_chunk(READ_CHUNK_BYTES), services.settings)
    upload = await uploads.append(upload.id, pieces, offset=0, now=services.now())
    if upload.offset < upload.size:
        await uploads.cancel(upload.id)
        raise SizeMismatch("the file is shorter than announced", expected=upload.size, found=upload.offset)
    return web.Response()


@appends
async def append(request: web.Request) -> web.StreamResponse:
    """``PATCH``: more bytes from ``Upload-Offset`` on; 204 while there are some to come, then 200."""
    uploads, upload = await _own(request)
    services, offset = request.app[SERVICES], number_in(request, OFFSET)
    announced_length(request, upload.size)
    upload = await uploads.append(upload.id, pieces_of(request, services.settings), offset=offset, now=services.now())
    if upload.offset < upload.size:
        return web.Response(status=HTTPStatus.NO_CONTENT, headers=state_of(upload))
    return web.Response(headers={OFFSET: str(upload.size), COMPLETE: "?1"})


@describes(
    Tag.KAMU,
    Answer({BYTES: BINARY}),
    Answer({BYTES: BINARY}, HTTPStatus.PARTIAL_CONTENT),
    empty(HTTPStatus.NO_CONTENT, "it is not whole: `Upload-Offset` says how far it came"),
    empty(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE),
    refuses=_ABSENT,
)
async def get(request: web.Request) -> web.StreamResponse:
    """``GET``: the file, for everybody who knows the token; 204 with the offset while it is not whole."""
    uploads, upload = await found_upload(request.app[SERVICES], request.match_info["token"])
    if upload.offset < upload.size:
        return web.Response(status=HTTPStatus.NO_CONTENT, headers=state_of(upload))
    told = {OFFSET: str(upload.size), LENGTH: str(upload.size), COMPLETE: "?1"}
    # What a stranger sent is never shown by a browser as a page of ours.
    shown = {"Content-Type": "application/octet-stream", "Content-Disposition": "attachment"}
    return web.FileResponse(uploads.file_of(upload), headers={**told, **shown})


@describes(Tag.KAMU, empty(HTTPStatus.NO_CONTENT), refuses=_ABSENT)
async def cancel(request: web.Request) -> web.StreamResponse:
    """``DELETE``: give the file up."""
    uploads, upload = await _own(request)
    await uploads.cancel(upload.id)
    return web.Response(status=HTTPStatus.NO_CONTENT)


async def found_upload(services: Services, token: str) -> tuple[Uploads, Upload]:
    """The upload that a token names.

    Raises:
        MalformedInput: it is no token, or says something else than it did.
        NotFound: there is no such upload, or no more.
    """
    uploads = await services.incoming.uploads()
    upload = await uploads.find(upload_id_in(token), now=services.now())
    if token_of(upload) != token:
        raise MalformedInput("the upload token was changed")
    return uploads, upload


def require_owner(upload: Upload, account: Account) -> None:
    """``AccessDenied`` unless the upload is that account's."""
    if FileUpload.from_upload(upload).owner != account.id:
        raise AccessDenied("this upload is somebody else's")


async def _own(request: web.Request) -> tuple[Uploads, Upload]:
    uploads, upload = await found_upload(request.app[SERVICES], request.match_info["token"])
    require_owner(upload, _account_of(request))
    return uploads, upload


def _account_of(request: web.Request) -> Account:
    account = request[CALLER].account
    assert account is not None  # nobody else is let through
    return account


async def _begun(services: Services, file: FileUpload, size: int) -> Upload:
    uploads = await services.incoming.uploads()
    await _check_room(services, uploads, file, size)
    try:
        return await uploads.begin_file(file.key(), size=size, size_max=services.incoming.bytes_max, now=services.now())
    except LimitExceeded as error:  # 400, as the reference answers
        raise MalformedInput("the file is too large", expected=error.expected, found=error.found) from None


async def _check_room(services: Services, uploads: Uploads, file: FileUpload, size: int) -> None:
    known = await uploads.all(now=services.now())
    own = [upload.size for upload in known if FileUpload.from_upload(upload).owner == file.owner]
    room = services.settings.account_uploads_bytes_max - sum(own)
    if size > room or len(own) >= FILE_UPLOADS_MAX:
        raise LimitExceeded(
            "this account has sent too much that it has not ingested",
            expected=f"at most {room} bytes, {FILE_UPLOADS_MAX} files",
            found=f"{size} bytes more",
            hint="ingest or DELETE uploads, or wait until they are forgotten",
        )


async def _file_part(request: web.Request) -> BodyPartReader:
    """The only part of the form."""
    part = await (await request.multipart()).next() if request.content_type == "multipart/form-data" else None
    if not isinstance(part, BodyPartReader) or part.name != "file":
        raise MalformedInput("the body is a form with one part, called file")
    return part
