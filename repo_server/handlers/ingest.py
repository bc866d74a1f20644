"""Push ingest: what clients send enters a dataset by its push source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final

import orjson
from aiohttp import web

from catalog.ingest_plans import IngestKey
from catalog.permissions import Access
from opendatafabric.errors import MalformedInput, NotFound, UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.limits import IDEMPOTENCY_KEY_CHARS_MAX
from opendatafabric.multihash import physical_hash
from pipeline.commit import Outcome, Position
from pipeline.ingest import Given
from pipeline.ingest_request import Source
from pipeline.push_sources import format_of_media_type, push_source
from repo_server.body import length_if_announced, pieces_of
from repo_server.gate import Refused, Visit, visit
from repo_server.head_moves import note_move
from repo_server.incoming import Received
from repo_server.ingesting import Ingested, WantedIngest
from repo_server.problems import json_response, message

EVENT_TIME: Final = "odf-event-time"
KEY: Final = "Idempotency-Key"
REPEATED: Final = "Idempotent-Replayed"
_KEY: Final = re.compile(rf"[\x21-\x7e]{{1,{IDEMPOTENCY_KEY_CHARS_MAX}}}", re.ASCII)


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

    def fingerprint(self, content: str) -> str:
        """Differs for requests that ask for something else."""
        told = [content, self.source_name, self.input_format, str(self.event_time)]
        return str(physical_hash(orjson.dumps(told)))


async def post_ingest(request: web.Request) -> web.StreamResponse:
    """``POST ingest``: 200 once the data are in, or were in before."""
    found = await visit(request, Access.WRITE)
    services = found.services
    found.dataset.entry.dataset.writable_objects()
    parameters = _parameters(request)
    services.ingests.check_room()
    length_if_announced(request, services.settings.ingest_bytes_max)
    async with services.incoming.received(pieces_of(request, services.settings)) as received:
        return _answer(await services.ingests.run(_wanted(found, parameters, received)))


def _parameters(request: web.Request) -> _Parameters:
    media_type, event_time = request.headers.get("Content-Type"), request.headers.get(EVENT_TIME)
    key = request.headers.get(KEY)
    if key is not None and _KEY.fullmatch(key) is None:
        raise MalformedInput(f"header {KEY} is 1 to {IDEMPOTENCY_KEY_CHARS_MAX} visible ASCII characters")
    return _Parameters(
        source_name=request.query.get("sourceName"),
        input_format=None if media_type is None else _format_of(media_type),
        event_time=None if event_time is None else Instant.from_rfc3339(event_time),
        key=key,
    )


def _format_of(media_type: str) -> str:
    try:
        return format_of_media_type(media_type)
    except UnsupportedOperation as error:
        raise Refused(message(f"{error.message}: {error.expected}", HTTPStatus.UNSUPPORTED_MEDIA_TYPE)) from None


def _wanted(found: Visit, parameters: _Parameters, received: Received) -> WantedIngest:
    dataset_id, account = found.dataset.entry.id, found.caller.account
    assert account is not None  # nobody else may write
    return WantedIngest(
        dataset_id=dataset_id,
        dataset=found.dataset.entry.dataset,
        given=Given(received.file, event_time=parameters.event_time),
        choose=parameters.choose,
        on_head_moved=partial(_note, found),
        key=None if parameters.key is None else IngestKey(dataset_id, account.id, parameters.key),
        fingerprint=parameters.fingerprint(str(received.hash)),
    )


async def _note(found: Visit, outcome: Outcome) -> None:
    await note_move(found, found.dataset.entry.id, expected_head=outcome.old_head, new_head=outcome.new_head)


def _answer(done: Ingested) -> web.Response:
    return json_response(done.answer, headers={REPEATED: "true"} if done.repeated else None)
