"""Verification reports of a dataset for whoever may read it: as JSON, or as pages for those who ask for HTML."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

from aiohttp import hdrs, web

from catalog.permissions import Access
from catalog.reports import history
from catalog.visibility import Visibility
from opendatafabric.errors import HashMismatch, ObjectNotFound, StorageError
from repo_server.gate import Visit, visit
from repo_server.handlers.simple import hash_of
from repo_server.object_response import headers_of, is_known
from repo_server.pages.frame import HEADERS
from repo_server.pages.report_pages import report_list_page, report_page
from repo_server.problems import json_response, message
from repo_server.report_states import plain_reports
from verify.report_record import SCHEMA_NAME, parse_report, report_schema
from verify.report_room import read_report

_VARIES: Final = {"Vary": "Accept, Authorization", "Cache-Control": "no-cache"}
_SCHEMA_FRESH_S: Final = 86_400


async def get_reports(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/reports``: the newest first, and how the verdict changed."""
    found = await visit(request, Access.READ)
    reports = await found.services.catalog.reports.of(found.dataset.entry.id)
    if wants_html(request):
        return _html(report_list_page(str(found.alias), reports, history(reports)))
    return json_response(plain_reports(reports), headers=_VARIES)


async def get_report(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/reports/{hash}``: the bytes that are kept, or a page that says the same."""
    found = await visit(request, Access.READ)
    report_hash = hash_of(request)
    if not wants_html(request) and is_known(request, str(report_hash)):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=_headers(str(report_hash), found))
    try:
        raw = await read_report(found.dataset.entry.dataset.objects, report_hash)
    except ObjectNotFound:
        return message(f"report {report_hash} is not here", HTTPStatus.NOT_FOUND)
    except HashMismatch as error:  # what lies on our disk is no fault of whoever asks
        raise StorageError(error.message, hint="odf fsck") from error
    if wants_html(request):
        return _html(await asyncio.to_thread(lambda: report_page(report_hash, parse_report(raw))))
    return web.Response(body=raw, headers=_headers(str(report_hash), found))


async def get_schema(request: web.Request) -> web.StreamResponse:
    """``GET /system/schemas/{schema}``: the one schema there is."""
    if request.match_info["schema"] != SCHEMA_NAME:
        return message("there is no such schema", HTTPStatus.NOT_FOUND)
    return json_response(report_schema(), headers={"Cache-Control": f"public, max-age={_SCHEMA_FRESH_S}"})


def wants_html(request: web.Request) -> bool:
    """Whether the caller names HTML, and likes it no less than JSON."""
    liked = dict(_preference(part) for part in request.headers.get(hdrs.ACCEPT, "").split(","))
    html = liked.get("text/html", 0.0)
    return html > 0 and html >= liked.get("application/json", 0.0)


def _preference(part: str) -> tuple[str, float]:
    kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
    weight = next((each.removeprefix("q=") for each in parameters if each.startswith("q=")), "1")
    try:
        return kind, float(weight)
    except ValueError:
        return kind, 0.0


def _headers(name: str, found: Visit) -> dict[str, str]:
    is_public = found.dataset.record.visibility is Visibility.PUBLIC
    kept = {**headers_of(name, is_public=is_public), "Content-Type": "application/json", "Vary": _VARIES["Vary"]}
    del kept["Accept-Ranges"]
    return kept


def _html(page: str) -> web.Response:
    return web.Response(text=page, content_type="text/html", headers={**HEADERS, **_VARIES})
