"""A resource over HTTP: asked for by condition, followed where it moved, taken whole or not at all."""

from __future__ import annotations

import asyncio
import re
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from typing import Final

import aiohttp
from yarl import URL

from opendatafabric.errors import MalformedInput, MalformedManifest, NotFound, PeerUnavailable
from opendatafabric.instant import Instant
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.sources import FetchStepUrl
from opendatafabric.source_limits import FETCH_REDIRECTS_MAX, FETCH_S_MAX, FETCH_SILENCE_S_MAX
from pipeline.fetch.event_time import by_metadata
from pipeline.fetch.fetched import ETAG, LAST_MODIFIED, Fetched, FetchOptions, state_of
from pipeline.fetch.places import named_place, refusal, sockets_for
from pipeline.fetch.sink import Sink
from pipeline.fetch.templates import resolve

Headers = list[tuple[str, str]]

_TIMEOUT: Final = aiohttp.ClientTimeout(
    total=FETCH_S_MAX, sock_connect=FETCH_SILENCE_S_MAX, sock_read=FETCH_SILENCE_S_MAX
)
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MOVED: Final = frozenset({301, 302, 303, 307, 308})


async def fetch_http(
    step: FetchStepUrl, url: str, state: SourceState | None, target: Path, options: FetchOptions
) -> Fetched | None:
    """The resource at the resolved ``url``, if it is another than at ``state``; errors as ``fetch``."""
    place, sockets = named_place(step.url), sockets_for(options)
    headers = _headers(step, options)
    try:
        async with (
            aiohttp.ClientSession(connector=sockets.connector(), timeout=_TIMEOUT, auto_decompress=False) as session,
            await _followed(session, URL(url), headers, _condition(state), place) as answer,
        ):
            if answer.status == 304:
                return None
            _check_status(answer.status, place)
            await _save(answer, Sink(target, place, options.progress, answer.content_length))
            return _fetched(step, answer, target)
    except (aiohttp.ClientError, TimeoutError) as error:
        refused = refusal(sockets, place)
        raise refused or PeerUnavailable(f"the source {place} cannot be fetched: {type(error).__name__}") from None
    except ValueError:
        raise MalformedManifest(f"the source {place} has an address or headers that HTTP does not allow") from None


def _headers(step: FetchStepUrl, options: FetchOptions) -> Headers:
    for each in step.headers or ():
        if _TOKEN.fullmatch(each.name) is None:
            raise MalformedManifest(f"'{each.name}' is no name of a header")
    return [(each.name, resolve(each.value, options.variables)) for each in step.headers or ()]


async def _followed(
    session: aiohttp.ClientSession, url: URL, headers: Headers, condition: dict[str, str], place: str
) -> aiohttp.ClientResponse:
    """The first answer that leads no further. Another origin is not told the headers: they may hold secrets."""
    origin = url.origin()
    for _ in range(FETCH_REDIRECTS_MAX + 1):
        ours = [each for each in headers if url.origin() == origin and each[0].lower() not in condition]
        answer = await session.get(url, headers=[*ours, *condition.items()], allow_redirects=False)
        if answer.status not in _MOVED or "Location" not in answer.headers:
            return answer
        answer.release()
        url = url.join(URL(answer.headers["Location"]))
        if url.scheme not in {"http", "https"}:
            raise PeerUnavailable(f"the source {place} leads to an address of scheme '{url.scheme}'")
    raise PeerUnavailable(f"the source {place} sends us on for ever", expected=f"at most {FETCH_REDIRECTS_MAX} times")


def _condition(state: SourceState | None) -> dict[str, str]:
    plain = {"accept-encoding": "identity"}
    if state is None:
        return plain
    if state.kind == ETAG:
        return {**plain, "if-none-match": state.value}
    try:
        moment = Instant.from_rfc3339(state.value).to_datetime()
    except MalformedInput:
        return plain
    return {**plain, "if-modified-since": format_datetime(moment, usegmt=True)}


def _check_status(status: int, place: str) -> None:
    if status == 404:
        raise NotFound(f"the source {place} is not there")
    if status != 200:
        raise PeerUnavailable(f"the source {place} answered {status}", expected="200 or 304")


async def _save(answer: aiohttp.ClientResponse, sink: Sink) -> None:
    with sink:
        async for piece in answer.content.iter_chunked(READ_CHUNK_BYTES):
            await asyncio.to_thread(sink.write, piece)


def _fetched(step: FetchStepUrl, answer: aiohttp.ClientResponse, target: Path) -> Fetched:
    etag, modified = answer.headers.get("ETag"), _last_modified(answer.headers.get("Last-Modified"))
    if etag is not None:
        return Fetched(target, state_of(ETAG, etag))
    if modified is None:
        return Fetched(target, None)
    return Fetched(target, state_of(LAST_MODIFIED, str(modified)), by_metadata(step.event_time, modified))


def _last_modified(text: str | None) -> Instant | None:
    try:
        return None if text is None else Instant.from_datetime(parsedate_to_datetime(text))
    except ValueError:
        return None
