"""Records of a dataset as files, whole or in part; a download that broke off goes on where it was."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from aiohttp import web

from catalog.visibility import Visibility
from opendatafabric.errors import MalformedInput
from opendatafabric.layout import data_key
from pipeline.query.answer_form import FileKind
from repo_server.gate import VISIT, Refused, Visit
from repo_server.object_response import is_known, send_object
from repo_server.openapi.described import BINARY, NOT_MODIFIED, Answer, Parameter, Tag, describes
from repo_server.problems import worded
from repo_server.query.downloads import PARAMETERS, PreparedDownload, download_from
from repo_server.query.file_types import FILE_TYPES
from repo_server.stored_response import send_stored

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_PARAMETERS: Final = tuple(Parameter(name, says) for name, says in PARAMETERS.items())
_PART: Final = "the range that was asked for"


def download(kind: FileKind) -> Handler:
    """``GET /{dataset}/data.{kind}``."""
    whole = Answer({FILE_TYPES[kind].partition(";")[0]: BINARY})
    part = Answer({FILE_TYPES[kind].partition(";")[0]: BINARY}, HTTPStatus.PARTIAL_CONTENT, _PART)
    refuses = (
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
        HTTPStatus.NOT_IMPLEMENTED,
        HTTPStatus.INSUFFICIENT_STORAGE,
    )

    @describes(Tag.REPOSITORY, whole, part, NOT_MODIFIED, refuses=refuses, parameters=_PARAMETERS, shown=True)
    async def get(request: web.Request) -> web.StreamResponse:
        return await _send(request, kind)

    return get


async def _send(request: web.Request, kind: FileKind) -> web.StreamResponse:
    found = request[VISIT]
    downloads, dataset = found.services.downloads, found.dataset.entry.dataset
    try:
        asked = download_from(kind, request.query)
    except MalformedInput as error:
        raise Refused(worded(error, HTTPStatus.BAD_REQUEST)) from None
    prepared = await downloads.prepared(dataset, asked)
    headers = _headers(found, kind)
    if prepared.only_slice is not None:
        return await _send_slice(request, prepared, headers)
    name = await asyncio.to_thread(lambda: prepared.name)
    if is_known(request, name):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers={**headers, "ETag": f'"{name}"'})
    path = await downloads.file(prepared)
    return await send_object(request, path, name, is_public=_is_public(found), headers=headers)


async def _send_slice(request: web.Request, prepared: PreparedDownload, headers: dict[str, str]) -> web.StreamResponse:
    """The file that was pushed, as it is sent under its own name."""
    data_slice, objects = prepared.only_slice, prepared.dataset.objects
    assert data_slice is not None
    key = data_key(data_slice.physical_hash)
    path = objects.local_path(key)
    if path is None:
        return await send_stored(request, objects, key, is_public=_is_public(request[VISIT]), headers=headers)
    name = str(data_slice.physical_hash)
    return await send_object(request, path, name, is_public=_is_public(request[VISIT]), headers=headers)


def _headers(found: Visit, kind: FileKind) -> dict[str, str]:
    file_name = f"{found.alias.name}.{kind.value}"
    return {
        "Content-Type": FILE_TYPES[kind],
        "Content-Disposition": f'attachment; filename="{file_name}"',
        "Cache-Control": "no-cache" if _is_public(found) else "private, no-cache",
        "Vary": "Authorization",
    }


def _is_public(found: Visit) -> bool:
    return found.dataset.record.visibility is Visibility.PUBLIC
