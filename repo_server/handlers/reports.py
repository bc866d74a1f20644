"""Verification reports of a dataset for whoever may read it: as JSON, or as pages for those who ask for HTML."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

from aiohttp import web

from catalog.reports import history
from catalog.visibility import Visibility
from opendatafabric.errors import HashMismatch, NotFound, ObjectNotFound, StorageError
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import AddData, ExecuteTransform
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.multihash import Multihash, physical_hash
from repo_server.gate import VISIT, Visit
from repo_server.handlers.simple import hash_of
from repo_server.html_response import VARIES, frame_of, html_response, wants_html
from repo_server.object_response import headers_of, is_known
from repo_server.openapi.described import NOT_MODIFIED, Tag, describes, json, json_or_page
from repo_server.pages.report_pages import report_list_page, report_page
from repo_server.pages.verdict_words import PLACES_MAX, blocks_in_words
from repo_server.paging import PAGED, page_of
from repo_server.problems import json_response
from repo_server.readable_values import may_see_values
from repo_server.report_states import ReportList, plain_reports
from verify.redaction import redacted
from verify.report_record import SCHEMA_NAME, ReportRecord, parse_report, report_schema
from verify.report_room import read_report

_SCHEMA_FRESH_S: Final = 86_400


@describes(Tag.REPOSITORY, json_or_page(ReportList), parameters=PAGED, shown=True)
async def get_reports(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/reports``: the newest first, and how the verdict changed."""
    found = request[VISIT]
    reports = await found.services.catalog.reports.of(found.dataset.entry.id)
    if wants_html(request):
        frame = frame_of(request)
        return html_response(report_list_page(str(found.alias), reports, history(reports), frame))
    listed = page_of(request, reports, lambda report: [report.ended_at, str(report.hash)])
    return json_response(plain_reports(listed.rows, reports), headers={**VARIES, **listed.headers})


@describes(
    Tag.REPOSITORY, json_or_page({"type": "object"}, "the report, as `/system/schemas` describes it"), NOT_MODIFIED
)
async def get_report(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/reports/{hash}``: the bytes that are kept, or a page that says the same.

    Who may not read all inputs of a derivative gets a redacted document, which names the whole.
    """
    found = request[VISIT]
    report_hash = hash_of(request)
    try:
        raw = await read_report(found.dataset.entry.dataset.objects, report_hash)
    except ObjectNotFound:
        raise ObjectNotFound(f"report {report_hash} is not here", hint="GET …/reports lists them") from None
    except HashMismatch as error:  # what lies on our disk is no fault of whoever asks
        raise StorageError(error.message, hint="odf fsck") from error
    return await _answer(request, found, report_hash, raw)


async def _answer(request: web.Request, found: Visit, report_hash: Multihash, raw: bytes) -> web.StreamResponse:
    whole = await asyncio.to_thread(parse_report, raw)
    public = await asyncio.to_thread(redacted, whole, report_hash)
    is_whole = public is whole or await may_see_values(found, whole)
    told = whole if is_whole else public
    if wants_html(request):
        frame = frame_of(request)
        records = await _records(found, told)
        return html_response(await asyncio.to_thread(report_page, report_hash, told, frame, found.alias, records))
    body = raw if is_whole else await asyncio.to_thread(told.to_bytes)
    name = str(report_hash if is_whole else await asyncio.to_thread(physical_hash, body))
    headers = _headers(name, found, for_all=public is whole)
    if not is_whole:  # the caller may be let see more some day
        headers["Cache-Control"] = VARIES["Cache-Control"]
    if is_known(request, name):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return web.Response(body=body, headers=headers)


async def _records(found: Visit, told: ReportRecord) -> dict[str, OffsetInterval]:
    """Which records the blocks hold that are told in words, as far as those can be read."""
    hashes = [Multihash.from_text(each.block_hash) for each in blocks_in_words(told)[:PLACES_MAX]]
    read = await asyncio.gather(*map(found.dataset.entry.dataset.read_block, hashes), return_exceptions=True)
    events = {each.hash: each.event for each in read if isinstance(each, HashedBlock)}
    return {
        str(name): event.new_data.offset_interval
        for name, event in events.items()
        if isinstance(event, AddData | ExecuteTransform) and event.new_data is not None
    }


@describes(Tag.REPOSITORY, json({"type": "object"}), refuses=(HTTPStatus.NOT_FOUND,), shown=True)
async def get_schema(request: web.Request) -> web.StreamResponse:
    """``GET /system/schemas/{schema}``: the one schema there is."""
    if request.match_info["schema"] != SCHEMA_NAME:
        raise NotFound("there is no such schema", expected=SCHEMA_NAME)
    return json_response(report_schema(), headers={"Cache-Control": f"public, max-age={_SCHEMA_FRESH_S}"})


def _headers(name: str, found: Visit, *, for_all: bool) -> dict[str, str]:
    is_public = for_all and found.dataset.record.visibility is Visibility.PUBLIC
    kept = {**headers_of(name, is_public=is_public), "Content-Type": "application/json", "Vary": VARIES["Vary"]}
    del kept["Accept-Ranges"]
    return kept
