"""Push ingest: what clients send, or have uploaded before, enters a dataset by its push source."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final

import orjson
from aiohttp import web

from catalog.accounts import Account
from catalog.ingest_plans import IngestKey
from opendatafabric.errors import MalformedInput, NotFound, SizeMismatch, UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.multihash import physical_hash
from pipeline.commit import Outcome, Position
from pipeline.ingest import Given
from pipeline.ingest_request import Source
from pipeline.push_sources import MEDIA_TYPES, format_of_file, format_of_media_type, push_source
from repo_server.body import length_if_announced, pieces_of
from repo_server.gate import VISIT, Refused, Visit
from repo_server.handlers.files import found_upload, require_owner
from repo_server.head_moves import note_deed, note_move
from repo_server.ingesting import IngestAnswer, Ingested, WantedIngest
from repo_server.openapi.described import BINARY, Body, Parameter, Tag, describes, json
from repo_server.problems import json_response, message
from repo_server.repeating import KEY, REPEATED, key_of
from repo_server.upload_tokens import FileUpload, upload_id_in

EVENT_TIME: Final = "odf-event-time"
_EXAMPLE: Final = "city,population\nkyiv,3\n"


@dataclass(frozen=True, slots=True)
class _Parameters:
    """What a request says besides its body."""

    source_name: str | None
    input_format: str | None
    event_time: Instant | None
    key: str | None

    def choose(self, position: Position) -> Source:
        """The source that is meant; what the reference answers 400 and 415 is answered so."""
        try:
            return push_source(position.state, self.source_name, self.input_format)
        except NotFound as error:
            raise MalformedInput(error.message, expected=error.expected, hint="name one: ?sourceName=NAME") from None
        except UnsupportedOperation as error:
            raise Refused(message(error.message, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)) from None

    def fingerprint(self, *content: str | None) -> str:
        """Differs for requests that ask for something else."""
        return str(physical_hash(orjson.dumps([*content, self.source_name, str(self.event_time)])))


@describes(
    Tag.KAMU,
    json(IngestAnswer),
    refuses=(HTTPStatus.CONFLICT, HTTPStatus.NOT_IMPLEMENTED),
    parameters=(
        Parameter("sourceName", "the push source, where there are several"),
        Parameter("uploadToken", "a file that was sent before, instead of a body"),
        Parameter(EVENT_TIME, "when records happened that do not say it (RFC 3339)", place="header"),
        Parameter(KEY, "the request is done once, however often it is sent", place="header"),
    ),
    body=Body(dict.fromkeys(MEDIA_TYPES, BINARY), _EXAMPLE, required=False),
    shown={"name": "cities"},
)
async def post_ingest(request: web.Request) -> web.StreamResponse:
    """``POST ingest``: 200 once the data are in, or were in before."""
    found = request[VISIT]
    found.dataset.entry.dataset.writable_objects()
    token = request.query.get("uploadToken")
    return await (_from_body(request, found) if token is None else _from_upload(request, found, token))


async def _from_body(request: web.Request, found: Visit) -> web.Response:
    services = found.services
    parameters = _parameters(request, request.headers.get("Content-Type"))
    services.ingests.check_room()
    length_if_announced(request, services.settings.ingest_bytes_max)
    async with services.incoming.received(pieces_of(request, services.settings)) as received:
        fingerprint = parameters.fingerprint(str(received.hash), parameters.input_format)
        wanted = _wanted(request, found, parameters, received.file, fingerprint)
        async with _room(found, received.size):
            return _answer(await services.ingests.run(wanted))


async def _from_upload(request: web.Request, found: Visit, token: str) -> web.Response:
    """The upload is what tells the request from others: it enters once, and is gone afterwards."""
    services, upload_id = found.services, upload_id_in(token)
    parameters = replace(_parameters(request, None), key=request.headers.get(KEY, f"upload-{upload_id}"))
    fingerprint = parameters.fingerprint(upload_id)
    known = await services.ingests.earlier(_wanted(request, found, parameters, Path(), fingerprint))
    if known is not None:
        return _answer(known)
    uploads, upload = await found_upload(services, token)
    require_owner(upload, _account_of(found))
    if upload.offset < upload.size:
        raise SizeMismatch("the upload is not complete", expected=upload.size, found=upload.offset)
    parameters = replace(parameters, input_format=_format_of_upload(FileUpload.from_upload(upload)))
    try:
        async with _room(found, upload.size):
            wanted = _wanted(request, found, parameters, uploads.file_of(upload), fingerprint)
            done = await services.ingests.run(wanted)
    except NotFound:
        raise NotFound("the upload was ingested elsewhere, or given up") from None
    await uploads.cancel(upload_id)
    return _answer(done)


def _parameters(request: web.Request, media_type: str | None) -> _Parameters:
    event_time, key = request.headers.get(EVENT_TIME), key_of(request) if KEY in request.headers else None
    return _Parameters(
        source_name=request.query.get("sourceName"),
        input_format=None if media_type is None else _format_of(media_type),
        event_time=None if event_time is None else Instant.from_rfc3339(event_time),
        key=key,
    )


def _format_of_upload(file: FileUpload) -> str | None:
    return format_of_file(file.file_name) if file.content_type is None else _format_of(file.content_type)


def _format_of(media_type: str) -> str:
    try:
        return format_of_media_type(media_type)
    except UnsupportedOperation as error:
        raise Refused(message(f"{error.message}: {error.expected}", HTTPStatus.UNSUPPORTED_MEDIA_TYPE)) from None


def _wanted(request: web.Request, found: Visit, parameters: _Parameters, file: Path, fingerprint: str) -> WantedIngest:
    dataset_id, account = found.dataset.entry.id, _account_of(found)
    return WantedIngest(
        dataset_id=dataset_id,
        dataset=found.dataset.entry.dataset,
        given=Given(file, event_time=parameters.event_time),
        choose=parameters.choose,
        on_head_moved=partial(_note, request, found),
        key=None if parameters.key is None else IngestKey(dataset_id, account.id, parameters.key),
        fingerprint=fingerprint,
    )


def _account_of(found: Visit) -> Account:
    account = found.caller.account
    assert account is not None  # nobody else may write
    return account


def _room(found: Visit, size: int) -> AbstractAsyncContextManager[None]:
    dataset = found.dataset
    return found.services.meter.for_ingest(dataset.record.owner_id, dataset.entry.id, size)


async def _note(request: web.Request, found: Visit, outcome: Outcome) -> None:
    entry = found.dataset.entry
    dataset_id = entry.id
    await found.services.meter.appended(dataset_id, entry.dataset, outcome.new_head, outcome.old_head)
    await note_move(found, dataset_id, expected_head=outcome.old_head, new_head=outcome.new_head)
    await note_deed(request, dataset_id, outcome.old_head, outcome.new_head)


def _answer(done: Ingested) -> web.Response:
    return json_response(done.answer, headers={REPEATED: "true"} if done.repeated else None)
