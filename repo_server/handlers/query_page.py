"""The page to ask datasets in SQL, for browsers that come to ``/query``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

import orjson
from aiohttp import web

from opendatafabric.errors import EngineUnavailable, LimitExceeded, MalformedInput, NotFound, OdfError
from opendatafabric.instant import Instant
from pipeline.query.answer_form import JsonShape, SchemaFormat
from repo_server.error_table import status_of
from repo_server.gate import CALLER
from repo_server.html_response import frame_of, html_response
from repo_server.identity import Caller
from repo_server.pages.addresses import address_of
from repo_server.pages.query_page import (
    AskedOnPage,
    CheckedOnPage,
    ResultOnPage,
    SeenQuery,
    TableOnPage,
    query_page,
    result_of,
)
from repo_server.query.answering import Answered, answer_parts, answered
from repo_server.query.checking import ProofToCheck, fault_of
from repo_server.query.datasets import ReadableDatasets
from repo_server.query.question import Include, Question
from repo_server.query.words import whole_number
from repo_server.services import SERVICES, Services

_ROWS_MAX: Final = 1_000
"""More rows than anybody reads on a page; they can be taken away as a file."""

_TABLES_MAX: Final = 20
"""As many datasets are listed as help."""

_TOLD_ON_PAGE: Final = (MalformedInput, NotFound, LimitExceeded, EngineUnavailable)
"""What may be wrong with a question; whoever asked mends it on the page."""


async def send_query_page(request: web.Request) -> web.StreamResponse:
    """The form; with ``?query=`` also its answer, with ``?dataset=`` the columns of that dataset, with ``?check=``
    whether that proof holds."""
    visitor, status = _Visitor(request.app[SERVICES], request[CALLER]), HTTPStatus.OK
    try:
        seen = await visitor.seen(request.query)
    except _TOLD_ON_PAGE as error:
        typed = AskedOnPage(request.query.get("query", ""))
        seen, status = SeenQuery(typed, await visitor.tables_in(typed.query), fault=error), _status(error)
    most = visitor.services.settings.query_rows_max
    page = query_page(seen, frame_of(request), rows_max=min(_ROWS_MAX, most), file_rows_max=most)
    return html_response(page, status=status)


def _status(error: OdfError) -> HTTPStatus:
    found = status_of(type(error))
    return found if found is HTTPStatus.SERVICE_UNAVAILABLE else HTTPStatus.BAD_REQUEST


@dataclass(frozen=True, slots=True)
class _Visitor:
    """Whoever looks at the page."""

    services: Services
    caller: Caller

    async def seen(self, given: Mapping[str, str]) -> SeenQuery:
        if "check" in given:
            return await self._checked(given["check"])
        asked = _asked(given)
        if "query" in given:
            result = await self._result(asked)
            return SeenQuery(asked, await self.tables(each.alias for each in result.datasets), result)
        if "dataset" in given:
            return SeenQuery(_about(given["dataset"]), await self.tables([given["dataset"]]))
        tables = await self.tables(())
        return SeenQuery(_about(tables[0].name) if tables else asked, tables)

    async def tables(self, first: Iterable[str]) -> list[TableOnPage]:
        """The columns of the datasets that are named ``first``, and then of the newest ones."""
        found = {name: await self._table(name) for name in first}
        async for table in self._newest():
            found.setdefault(table.name, table)
        return [*found.values()][:_TABLES_MAX]

    async def tables_in(self, query: str) -> list[TableOnPage]:
        """The newest ones, those that stand in ``query`` before others."""
        tables = [replace(each, is_open=each.name in query) for each in await self.tables(())]
        return sorted(tables, key=lambda table: not table.is_open)

    async def _table(self, name: str) -> TableOnPage:
        readable = ReadableDatasets(self.services, self.caller)
        dataset = await readable.find(name)
        facts = await self.services.indexing.facts_of(readable.found[name].entry.id, dataset)
        return TableOnPage(name, () if facts is None else facts.columns, is_open=True)

    async def _newest(self) -> AsyncIterator[TableOnPage]:
        catalog, settings = self.services.catalog, self.services.settings
        listed = await catalog.dataset_lists.list(self.caller.reader, count=_TABLES_MAX)
        facts = await catalog.dataset_facts.of_all([each.id for each in listed])
        for each in listed:
            if each.id in facts:
                yield TableOnPage(str(address_of(settings, each.alias)), facts[each.id].columns)

    async def _result(self, asked: AskedOnPage) -> ResultOnPage:
        began = time.monotonic()
        async with answered(self.services, self.caller, self._question(asked)) as answer:
            proof = await self._proof(answer)
            told = orjson.loads(await asyncio.to_thread(answer.output.read))
            return result_of(told, answer.datasets, took_s=time.monotonic() - began, proof=proof)

    def _question(self, asked: AskedOnPage) -> Question:
        return Question(
            asked.query,
            shape=JsonShape.AOA,
            include=frozenset({Include.PROOF} if self.services.settings.attestation_key_path else ()),
            schema_format=SchemaFormat.ARROW_JSON,
            limit=asked.limit,
            as_at=_instant(asked.as_at),
            as_of=_instant(asked.as_of),
            state=asked.state,
        )

    async def _proof(self, answer: Answered) -> str | None:
        """What ``POST /verify`` takes."""
        if Include.PROOF not in answer.question.include:
            return None
        _, end = await answer_parts(self.services, answer)
        return (b'{"input":' + orjson.dumps(answer.echoed) + end).decode()

    async def _checked(self, text: str) -> SeenQuery:
        proof = ProofToCheck(text.encode(errors="replace"))
        fault = await fault_of(self.services, self.caller, proof)
        question = proof.question
        asked = AskedOnPage(question.query, min(question.limit, _ROWS_MAX), question.state)
        checked = CheckedOnPage(text, None if fault is None else str(fault["message"]))
        return SeenQuery(asked, await self.tables_in(question.query), checked=checked)


def _about(name: str) -> AskedOnPage:
    return AskedOnPage(f'SELECT * FROM "{name}" LIMIT 10')


def _asked(given: Mapping[str, str]) -> AskedOnPage:
    default = AskedOnPage()
    limit = whole_number(given.get("limit") or str(default.limit), "limit", most=_ROWS_MAX)
    state = given.get("state", "false")
    if state not in {"true", "false"}:
        raise MalformedInput("a flag is true or false", found=state[:100])
    moments = (given.get(name, "").strip() for name in ("asAt", "asOf"))
    return AskedOnPage(given.get("query", default.query), limit, state == "true", *moments)


def _instant(text: str) -> Instant | None:
    return Instant.from_rfc3339(text) if text else None
