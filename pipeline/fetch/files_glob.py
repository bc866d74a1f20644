"""FilesGlob: files of a folder by name, one a poll, each later than the one before."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote, urlsplit

from opendatafabric.errors import MalformedSource, NotFound, UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.sources import (
    EventTimeSource,
    EventTimeSourceFromMetadata,
    EventTimeSourceFromPath,
    FetchStepFilesGlob,
    SourceOrdering,
)
from pipeline.fetch.fetched import ETAG, Fetched, state_of

_DATE = "%Y-%m-%d"


async def fetch_files_glob(step: FetchStepFilesGlob, state: SourceState | None) -> Fetched | None:
    """The file with the smallest name above that of ``state``; errors as ``fetch``."""
    if step.order not in {None, SourceOrdering.BY_NAME}:
        raise UnsupportedOperation("files are taken by name only", found=step.order, hint="order: ByName")
    pattern = Path(unquote(urlsplit(step.path).path) if step.path.startswith("file:") else step.path)
    names = await asyncio.to_thread(_matching, pattern)
    left = None if state is None or state.kind != ETAG else state.value
    later = [name for name in names if left is None or name.encode() > left.encode()]
    if later:
        name = later[0]
        event_time = _event_time(name, step.event_time)
        return Fetched(pattern.parent / name, state_of(ETAG, name), event_time, has_more=len(later) > 1)
    if left is None:
        raise NotFound(f"no file matches {pattern}")
    return None


def _matching(pattern: Path) -> list[str]:
    if not pattern.parent.is_dir():
        return []
    names = [path.name for path in pattern.parent.iterdir() if path.is_file() and fnmatchcase(path.name, pattern.name)]
    return sorted(names, key=str.encode)


def _event_time(name: str, source: EventTimeSource | None) -> Instant | None:
    if isinstance(source, EventTimeSourceFromMetadata):
        raise UnsupportedOperation("files have no event time in their metadata", hint="FromPath or FromSystemTime")
    if not isinstance(source, EventTimeSourceFromPath):
        return None
    try:
        found = re.search(source.pattern, name)
        text = found.group(1) if found else ""
        moment = datetime.strptime(text, source.timestamp_format or _DATE)
    except (re.error, IndexError, ValueError) as error:
        raise MalformedSource(f"the name {name} holds no event time: {error}", expected=source.pattern) from None
    return Instant.from_datetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
