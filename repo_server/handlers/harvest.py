"""Public datasets for catalogues, search engines and loaders elsewhere. Nobody gets more than anybody would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import Any, Final

import orjson
from aiohttp import web
from yarl import URL

from catalog.public_datasets import ROWS_AT_ONCE, PublicDataset
from opendatafabric.errors import MalformedInput, NotFound
from opendatafabric.multihash import physical_hash
from repo_server.gate import VISIT, Refused
from repo_server.handlers.health import software_version
from repo_server.harvest.croissant import croissant
from repo_server.harvest.dcat import catalogue
from repo_server.harvest.described import Described
from repo_server.harvest.describing import described, listed
from repo_server.harvest.sitemap import PARTS_MAX, URLS_MAX, Place, robots, sitemap, sitemap_index
from repo_server.object_response import is_known
from repo_server.openapi.described import NOT_MODIFIED, STRING, TEXT, Answer, Parameter, Tag, describes
from repo_server.pages.addresses import address_of
from repo_server.paging import PAGED, Key, cursor_of, limit_of, link_to, path_to
from repo_server.piece_response import send_pieces
from repo_server.problems import worded
from repo_server.query.words import only_known, whole_number
from repo_server.services import SERVICES, Services

JSON_LD: Final = "application/ld+json"
XML: Final = "application/xml"
_DOCUMENT: Final = {"type": "object"}
_FRESH_S: Final = 300
_PART: Final = Parameter("part", "of an index: which part, from 1", {"type": "integer", "minimum": 1})


@describes(Tag.REPOSITORY, Answer({JSON_LD: _DOCUMENT}), NOT_MODIFIED, parameters=PAGED, shown=True)
async def get_catalogue(request: web.Request) -> web.StreamResponse:
    """``GET /catalog.jsonld``: all public datasets, or with ``?limit=`` so many at a time."""
    limit, after = limit_of(request), str(next(iter(cursor_of(request) or []), ""))
    headers = await _headers(request, JSON_LD)
    if is_known(request, headers["ETag"].strip('"')):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    services = request.app[SERVICES]
    total = (await services.catalog.public_datasets.totals()).count
    if limit is None:
        batches, view = _walk(services, after), None
    else:
        batches, view = await _page(request, after, limit, headers)
    return await send_pieces(request, catalogue(services.base_url, batches, total=total, view=view), headers)


@describes(
    Tag.REPOSITORY,
    Answer({XML: STRING}, says="the sitemap, or an index of its parts"),
    NOT_MODIFIED,
    parameters=(_PART,),
    refuses=(HTTPStatus.NOT_FOUND,),
    shown=True,
)
async def get_sitemap(request: web.Request) -> web.StreamResponse:
    """``GET /sitemap.xml``: the pages of public datasets."""
    part = whole_number(request.query.get("part", "0"), "part", most=PARTS_MAX)
    headers = await _headers(request, XML)
    if is_known(request, headers["ETag"].strip('"')):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    services = request.app[SERVICES]
    totals = await services.catalog.public_datasets.totals()
    parts = -(-totals.count // URLS_MAX)
    if part > max(parts, 1):
        raise NotFound("the sitemap has no such part", expected=f"1 to {max(parts, 1)}", found=part)
    if parts > 1 and not part:
        places = [f"{services.base_url}/sitemap.xml?part={number}" for number in range(1, parts + 1)]
        return web.Response(body=sitemap_index(places), headers=headers)
    home = (f"{services.base_url}/", totals.updated_at)
    return await send_pieces(request, sitemap(_places(services, (part or 1) - 1, home)), headers)


@describes(Tag.REPOSITORY, Answer({TEXT: STRING}), shown=True)
async def get_robots(request: web.Request) -> web.StreamResponse:
    """``GET /robots.txt``."""
    services = request.app[SERVICES]
    root = URL(services.base_url).raw_path.rstrip("/")
    text = robots(services.base_url, root, anonymous_access=services.settings.anonymous_access)
    return web.Response(text=text, headers={"Cache-Control": f"public, max-age={_FRESH_S}"})


@describes(Tag.REPOSITORY, Answer({JSON_LD: _DOCUMENT}), NOT_MODIFIED, shown=True)
async def get_croissant(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/croissant.json``."""
    found = request[VISIT]
    try:
        only_known(request.query, ())
    except MalformedInput as error:
        raise Refused(worded(error, HTTPStatus.BAD_REQUEST)) from None
    entry = found.dataset.entry
    facts = await found.services.indexing.facts_of(entry.id, entry.dataset)
    told = None if facts is None else await described(found.services, found.dataset, facts)
    if told is None:
        raise NotFound("only public datasets are described for others", hint="see its page, or metadata")
    body = await asyncio.to_thread(lambda: orjson.dumps(croissant(told)))
    name = str(physical_hash(body))
    headers = {"ETag": f'"{name}"', "Cache-Control": "no-cache", "Content-Type": JSON_LD}
    if is_known(request, name):
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return web.Response(body=body, headers=headers)


async def _headers(request: web.Request, kind: str) -> dict[str, str]:
    """With an ``ETag`` for what is listed to the question that is asked."""
    services = request.app[SERVICES]
    version = await services.catalog.public_datasets.version()
    made_of = (version, software_version(), services.base_url, request.rel_url.raw_path_qs)
    name = physical_hash("\n".join(made_of).encode())
    fresh = f"public, max-age={_FRESH_S}" if services.settings.anonymous_access else "private, no-cache"
    return {"ETag": f'"{name}"', "Cache-Control": fresh, "Content-Type": kind}


async def _walk(services: Services, after: str) -> AsyncIterator[Sequence[Described]]:
    while rows := await services.catalog.public_datasets.after(after, count=ROWS_AT_ONCE):
        yield listed(services, rows)
        after = str(rows[-1].id)


async def _page(
    request: web.Request, after: str, limit: int, headers: dict[str, str]
) -> tuple[AsyncIterator[Sequence[Described]], dict[str, Any]]:
    """One page; the next one stands in the ``headers`` and in what is told of the page."""
    services = request.app[SERVICES]
    rows = await services.catalog.public_datasets.after(after, count=limit + 1)
    view = {"@id": f"{services.base_url}{request.rel_url}", "@type": "hydra:PartialCollectionView"}
    following: dict[str, Any] = {}
    if len(rows) > limit:
        last: Key = [str(rows[limit - 1].id)]
        following = {"hydra:next": {"@id": services.base_url + path_to(request, last)}}
        headers.update(link_to(request, last))
    return _once(services, rows[:limit]), view | following


async def _once(services: Services, rows: Sequence[PublicDataset]) -> AsyncIterator[Sequence[Described]]:
    yield listed(services, rows)


async def _places(services: Services, part: int, home: Place) -> AsyncIterator[Sequence[Place]]:
    if not part:
        yield [home]
    async for batch in services.catalog.public_datasets.places(skip=part * URLS_MAX, count=URLS_MAX):
        yield [(f"{services.base_url}/{address_of(services.settings, each.alias)}", each.updated_at) for each in batch]
