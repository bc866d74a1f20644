"""Url: one resource, over HTTP, FTP or as a file of this machine."""

from __future__ import annotations

import asyncio
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote

from opendatafabric.errors import NotFound, UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.sources import EventTimeSourceFromPath, FetchStepUrl
from pipeline.fetch.event_time import by_metadata
from pipeline.fetch.fetched import LAST_MODIFIED, Fetched, FetchOptions, state_of
from pipeline.fetch.ftp import fetch_ftp
from pipeline.fetch.http import fetch_http
from pipeline.fetch.places import check_private, named_place, parsed
from pipeline.fetch.templates import resolve

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


async def fetch_url(
    step: FetchStepUrl, state: SourceState | None, folder: Path, options: FetchOptions
) -> Fetched | None:
    """The resource, if it is another than at ``state``; errors as ``fetch``."""
    if isinstance(step.event_time, EventTimeSourceFromPath):
        raise UnsupportedOperation("an address has no event time in its path", hint="FromMetadata or FromSystemTime")
    place, url = named_place(step.url), resolve(step.url, options.variables)
    parts = parsed(url, place)
    if parts.scheme in {"http", "https"}:
        return await fetch_http(step, url, state, folder / "fetched", options)
    if step.headers:
        raise UnsupportedOperation("only HTTP takes headers", found=parts.scheme)
    if parts.scheme == "ftp":
        return await fetch_ftp(step, parts, state, folder / "fetched", options)
    if parts.scheme == "file":
        check_private(options, place)
        return await asyncio.to_thread(_fetch_file, step, parts, state)
    raise UnsupportedOperation(
        f"addresses of scheme '{parts.scheme}' are not polled", expected="http, https, ftp or file"
    )


def _fetch_file(step: FetchStepUrl, parts: SplitResult, state: SourceState | None) -> Fetched | None:
    path = Path(unquote(parts.path))
    if parts.netloc not in {"", "localhost"}:
        raise UnsupportedOperation("files of other machines are not polled", found=parts.netloc, hint="file:///path")
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is no path"
        raise NotFound(f"the source {path} is not there: {reason}") from None
    if not stat.S_ISREG(found.st_mode):
        raise UnsupportedOperation(f"the source {path} is no file", hint="folders are read by FilesGlob")
    changed = _in_milliseconds(found.st_mtime_ns)
    if state == state_of(LAST_MODIFIED, str(changed)):
        return None
    return Fetched(path, state_of(LAST_MODIFIED, str(changed)), by_metadata(step.event_time, changed))


def _in_milliseconds(nanoseconds: int) -> Instant:
    return Instant.from_datetime(_EPOCH + timedelta(milliseconds=(nanoseconds + 500_000) // 1_000_000))
