"""Url: one resource, over HTTP by conditional requests, or a file by the time it was changed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import aiohttp

from opendatafabric.errors import LimitExceeded, MalformedInput, NotFound, PeerUnavailable, UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.limits import FETCH_BYTES_MAX, FETCH_REDIRECTS_MAX, FETCH_SILENCE_S_MAX, READ_CHUNK_BYTES
from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.sources import (
    EventTimeSourceFromMetadata,
    EventTimeSourceFromPath,
    FetchStepUrl,
)
from pipeline.fetch.fetched import ETAG, LAST_MODIFIED, Fetched, FetchOptions, state_of
from pipeline.fetch.templates import resolve

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=FETCH_SILENCE_S_MAX, sock_read=FETCH_SILENCE_S_MAX)


async def fetch_url(
    step: FetchStepUrl, state: SourceState | None, folder: Path, options: FetchOptions
) -> Fetched | None:
    """The resource, if it is another than at ``state``; errors as ``fetch``."""
    if isinstance(step.event_time, EventTimeSourceFromPath):
        raise UnsupportedOperation("an address has no event time in its path", hint="FromMetadata or FromSystemTime")
    url = resolve(step.url, options.variables)
    scheme = urlsplit(url).scheme.lower()
    if scheme == "file":
        return await asyncio.to_thread(_fetch_file, step, Path(unquote(urlsplit(url).path)), state)
    if scheme in {"http", "https"}:
        return await _fetch_http(step, url, state, folder / "fetched", options)
    raise UnsupportedOperation(f"addresses of scheme '{scheme}' are not polled", expected="http, https or file")


def _fetch_file(step: FetchStepUrl, path: Path, state: SourceState | None) -> Fetched | None:
    try:
        milliseconds = (path.stat().st_mtime_ns + 500_000) // 1_000_000
    except OSError as error:
        raise NotFound(f"the source {path} is not there: {error.strerror}") from None
    changed = Instant.from_datetime(_EPOCH + timedelta(milliseconds=milliseconds))
    if state == state_of(LAST_MODIFIED, str(changed)):
        return None
    by_metadata = step.event_time is None or isinstance(step.event_time, EventTimeSourceFromMetadata)
    return Fetched(path, state_of(LAST_MODIFIED, str(changed)), changed if by_metadata else None)


async def _fetch_http(
    step: FetchStepUrl, url: str, state: SourceState | None, target: Path, options: FetchOptions
) -> Fetched | None:
    headers = {each.name: resolve(each.value, options.variables) for each in step.headers or ()}
    place = _without_secrets(url)
    try:
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT, auto_decompress=False) as session,
            session.get(url, headers=headers | _condition(state), max_redirects=FETCH_REDIRECTS_MAX) as answer,
        ):
            if answer.status == 304:
                return None
            _check_status(answer.status, place)
            await _save(answer, target, place)
            return _fetched(step, answer, target)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise PeerUnavailable(f"the source {place} cannot be fetched: {type(error).__name__}") from None


def _condition(state: SourceState | None) -> dict[str, str]:
    if state is None:
        return {"Accept-Encoding": "identity"}
    if state.kind == ETAG:
        return {"Accept-Encoding": "identity", "If-None-Match": state.value}
    try:
        moment = Instant.from_rfc3339(state.value).to_datetime()
    except MalformedInput:
        return {"Accept-Encoding": "identity"}
    return {"Accept-Encoding": "identity", "If-Modified-Since": format_datetime(moment, usegmt=True)}


def _check_status(status: int, place: str) -> None:
    if status == 404:
        raise NotFound(f"the source {place} is not there")
    if status != 200:
        raise PeerUnavailable(f"the source {place} answered {status}", expected="200 or 304")


async def _save(answer: aiohttp.ClientResponse, target: Path, place: str) -> None:
    size = 0
    with target.open("xb") as file:
        async for piece in answer.content.iter_chunked(READ_CHUNK_BYTES):
            size += len(piece)
            if size > FETCH_BYTES_MAX:
                raise LimitExceeded(f"the source {place} gives too much", expected=f"at most {FETCH_BYTES_MAX} bytes")
            await asyncio.to_thread(file.write, piece)


def _fetched(step: FetchStepUrl, answer: aiohttp.ClientResponse, target: Path) -> Fetched:
    etag, modified = answer.headers.get("ETag"), _last_modified(answer.headers.get("Last-Modified"))
    if etag is not None:
        return Fetched(target, state_of(ETAG, etag), _event_time(step, None))
    if modified is not None:
        return Fetched(target, state_of(LAST_MODIFIED, str(modified)), _event_time(step, modified))
    return Fetched(target, None)


def _event_time(step: FetchStepUrl, modified: Instant | None) -> Instant | None:
    by_metadata = step.event_time is None or isinstance(step.event_time, EventTimeSourceFromMetadata)
    return modified if by_metadata else None


def _last_modified(text: str | None) -> Instant | None:
    try:
        return None if text is None else Instant.from_datetime(parsedate_to_datetime(text))
    except ValueError:
        return None


def _without_secrets(url: str) -> str:
    """Scheme, host and path: the query and a password stay untold."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
