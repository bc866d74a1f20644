"""The page to ask datasets in SQL, for browsers that come to ``/query``."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final

import orjson
from aiohttp import web

from opendatafabric.errors import LimitExceeded, MalformedInput, NotFound
from pipeline.query.answer_form import JsonShape, SchemaFormat
from repo_server.gate import CALLER
from repo_server.html_response import html_response
from repo_server.identity import Caller
from repo_server.pages.frame import frame_at
from repo_server.pages.query_page import AskedOnPage, ResultOnPage, TableOnPage, cell_text, query_page
from repo_server.query.answering import answered
from repo_server.query.datasets import ReadableDatasets
from repo_server.query.question import LIMIT, Question
from repo_server.query.words import whole_number
from repo_server.services import SERVICES, Services
from storage.records.moment import KnownRecords

_ROWS_MAX: Final = 1_000
"""More rows than anybody reads on a page; they can be taken away as a file."""


async def send_query_page(request: web.Request) -> web.StreamResponse:
    """The form; with ``?query=`` also its answer, with ``?dataset=`` the columns of that dataset."""
    services, caller = request.app[SERVICES], request[CALLER]
    frame = frame_at(services.base_url)
    try:
        asked = _asked(request.query)
        tables = [await _table(services, caller, name) for name in request.query.getall("dataset", [])[:1]]
        result = None
        if "query" in request.query:
            result, read = await _result(services, caller, asked)
            tables += read
        elif tables:
            asked = AskedOnPage(f'SELECT * FROM "{tables[0].name}" LIMIT 10')
    except (MalformedInput, NotFound, LimitExceeded) as error:
        shown = AskedOnPage(request.query.get("query", ""))
        page = query_page(shown, rows_max=_ROWS_MAX, fault=error, frame=frame)
        return html_response(page, status=HTTPStatus.BAD_REQUEST)
    return html_response(query_page(asked, rows_max=_ROWS_MAX, result=result, tables=tables, frame=frame))


def _asked(parameters: Any) -> AskedOnPage:
    limit = whole_number(parameters.get("limit") or str(LIMIT), "limit", most=_ROWS_MAX)
    state = parameters.get("state", "false")
    if state not in {"true", "false"}:
        raise MalformedInput("a flag is true or false", found=state[:100])
    return AskedOnPage(parameters.get("query", AskedOnPage().query), limit, state == "true")


async def _result(services: Services, caller: Caller, asked: AskedOnPage) -> tuple[ResultOnPage, list[TableOnPage]]:
    question = Question(
        asked.query,
        shape=JsonShape.AOA,
        schema_format=SchemaFormat.ARROW_JSON,
        limit=asked.limit,
        state=asked.state,
    )
    async with answered(services, caller, question) as answer:
        told = orjson.loads(await asyncio.to_thread(answer.output.read))
        datasets = answer.datasets
    columns = [field["name"] for field in told["schema"]["fields"]]
    rows = [[cell_text(value) for value in row] for row in told["data"]]
    tables = [await _table(services, caller, each.alias) for each in datasets]
    return ResultOnPage(columns, rows, datasets), tables


async def _table(services: Services, caller: Caller, name: str) -> TableOnPage:
    dataset = await ReadableDatasets(services, caller).find(name)
    return TableOnPage(name, _columns(await services.queries.known(dataset)))


def _columns(known: KnownRecords) -> list[tuple[str, str]]:
    return [(field.name, str(field.type)) for field in known.schema]
