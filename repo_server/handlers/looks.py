"""The newest records of a dataset, and what its chain says of it."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final, NotRequired

from aiohttp import web
from typing_extensions import TypedDict

from opendatafabric.errors import MalformedInput
from pipeline.query.answer_form import AnswerForm, JsonShape, SchemaFormat
from repo_server.gate import VISIT, Refused
from repo_server.openapi.described import Parameter, Tag, describes, json
from repo_server.problems import json_response, worded
from repo_server.query.said import Said, plain_metadata
from repo_server.query.words import named, only_known, whole_number

_OFFSET_MAX: Final = 2**62
_TAIL: Final = ("skip", "limit", "dataFormat", "schemaFormat")
_METADATA: Final = ("include", "schemaFormat")

DATA_FORMAT: Final = Parameter("dataFormat", "the shape of the records", {"enum": list(JsonShape)}, value="JsonAoS")
SCHEMA_FORMAT: Final = Parameter("schemaFormat", "how the schema is written", {"enum": list(SchemaFormat)})


class Records(TypedDict):
    """Rows in the shape that was asked for, with their schema where a format of it was named."""

    data: Any
    dataFormat: JsonShape
    schema: NotRequired[Any]
    schemaFormat: NotRequired[SchemaFormat]


class Metadata(TypedDict):
    """What the chain says last."""

    output: dict[str, Any]


@describes(
    Tag.QUERY,
    json(Records),
    refuses=(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.NOT_IMPLEMENTED),
    parameters=(
        Parameter("skip", "how many of the newest records are left out", {"type": "integer", "minimum": 0}, value=0),
        Parameter("limit", "at most so many records", {"type": "integer", "minimum": 0}, value=100),
        DATA_FORMAT,
        SCHEMA_FORMAT,
    ),
    shown=True,
)
async def get_tail(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/tail``."""
    found = request[VISIT]
    services = found.services
    try:
        only_known(request.query, _TAIL)
        skip = whole_number(request.query.get("skip", "0"), "skip", most=_OFFSET_MAX)
        limit = whole_number(request.query.get("limit", "100"), "limit", most=services.settings.query_rows_max)
        form = AnswerForm(
            named(JsonShape, request.query.get("dataFormat", JsonShape.AOS), "dataFormat"), _schema_format(request)
        )
    except MalformedInput as error:
        raise Refused(worded(error, HTTPStatus.BAD_REQUEST)) from None
    entry = found.dataset.entry
    body = await services.looks.newest(entry.id, entry.dataset, skip=skip, limit=limit, form=form)
    return web.Response(body=body, content_type="application/json")


@describes(
    Tag.QUERY,
    json(Metadata),
    refuses=(HTTPStatus.NOT_IMPLEMENTED,),
    parameters=(Parameter("include", f"comma-separated: {', '.join(Said)}", value="seed"), SCHEMA_FORMAT),
    shown=True,
)
async def get_metadata(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/metadata``."""
    found = request[VISIT]
    try:
        only_known(request.query, _METADATA)
        words = request.query.get("include", Said.SEED).split(",")
        asked = {named(Said, word.strip(), "include") for word in words}
        schema_format = _schema_format(request) or SchemaFormat.ARROW_JSON
    except MalformedInput as error:
        raise Refused(worded(error, HTTPStatus.BAD_REQUEST)) from None
    entry = found.dataset.entry
    known = await found.services.looks.said(entry.id, entry.dataset)
    return json_response({"output": await asyncio.to_thread(plain_metadata, known, asked, schema_format)})


def _schema_format(request: web.Request) -> SchemaFormat | None:
    text = request.query.get("schemaFormat")
    return None if text is None else named(SchemaFormat, text, "schemaFormat")
