"""The steps of a derivative as run events of OpenLineage, a page at a time."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import orjson
from aiohttp import web

from catalog.permissions import Access
from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedInput, NotFound
from pipeline.lineage.run_events import Teller, producer
from repo_server.accepted import accepted
from repo_server.directory import Hosted
from repo_server.gate import VISIT, Visit, access_of
from repo_server.handlers.health import software_version
from repo_server.html_response import VARIES
from repo_server.openapi.described import JSON, STRING, Answer, Parameter, Tag, describes
from repo_server.pages.addresses import address_of
from repo_server.query.words import whole_number
from repo_server.run_events import NamedDataset, StepReader
from repo_server.services import SERVICES

RUNS_MAX: Final = 500
_RUNS: Final = 100
_NUMBER_MAX: Final = 2**62
_NDJSON: Final = "application/x-ndjson"
_FORMS: Final = {JSON: False, _NDJSON: True}
_EVENTS: Final = {"type": "array", "items": {"type": "object"}}


@describes(
    Tag.REPOSITORY,
    Answer({JSON: _EVENTS, _NDJSON: STRING}),
    parameters=(
        Parameter("after", "steps after the block of this number", {"type": "integer", "minimum": 0}, value=0),
        Parameter("limit", "how many at a time", {"type": "integer", "minimum": 1, "maximum": RUNS_MAX}, value=10),
    ),
    shown=True,
)
async def get_run_events(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/lineage/openlineage``: oldest first; the next page by the ``Link``."""
    found, after, limit = request[VISIT], _after(request), _limit(request)
    entry, services = found.dataset.entry, found.services
    if await services.indexing.facts_of(entry.id, entry.dataset) is None:
        raise NotFound("the chain of the dataset is being read", hint="try again in a moment")
    reader = StepReader(services.catalog.dataset_facts, lambda dataset_id: _readable(found, dataset_id))
    steps = await reader.steps(_named(found, found.dataset), after=after, count=limit)
    teller = Teller(services.base_url, producer(software_version()))
    events = await asyncio.to_thread(lambda: [teller.run_event(each) for each in steps.steps])
    headers = dict(VARIES)
    if steps.after is not None:
        headers["Link"] = f'<{_at(request, steps.after)}>; rel="next"'
    return _answer(events, headers, as_lines=accepted(request, _FORMS))


def _answer(events: list[dict[str, Any]], headers: dict[str, str], *, as_lines: bool) -> web.Response:
    if as_lines:
        lines = b"".join(orjson.dumps(each) + b"\n" for each in events)
        return web.Response(body=lines, content_type=_NDJSON, headers=headers)
    return web.Response(body=orjson.dumps(events), content_type=JSON, headers=headers)


async def _readable(found: Visit, dataset_id: DatasetId) -> NamedDataset | None:
    """The dataset, if the caller may read it, its index brought up to date."""
    services = found.services
    hosted = await services.directory.find(dataset_id)
    if hosted is None or hosted.entry.pending or await access_of(services, hosted, found.caller) < Access.READ:
        return None
    await services.indexing.facts_of(dataset_id, hosted.entry.dataset)
    return _named(found, hosted)


def _named(found: Visit, hosted: Hosted) -> NamedDataset:
    address = address_of(found.services.settings, hosted.entry.alias)
    owner = None if address.account is None else str(address.account)
    return NamedDataset(hosted.entry.id, hosted.entry.dataset, str(address), owner)


def _after(request: web.Request) -> int:
    text = request.query.get("after")
    return -1 if text is None else whole_number(text, "after", most=_NUMBER_MAX)


def _limit(request: web.Request) -> int:
    limit = whole_number(request.query.get("limit", str(_RUNS)), "limit", most=RUNS_MAX)
    if not limit:
        raise MalformedInput("a page has events", expected=f"1 to {RUNS_MAX}")
    return limit


def _at(request: web.Request, after: int) -> str:
    return f"{request.app[SERVICES].base_url}{request.rel_url.update_query(after=str(after))}"
