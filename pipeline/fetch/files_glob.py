"""FilesGlob: files of a folder, one a poll, each behind the one before by name or by the time in its name."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote, urlsplit

from opendatafabric.errors import NotFound, UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.sources import (
    EventTimeSourceFromMetadata,
    EventTimeSourceFromPath,
    FetchStepFilesGlob,
    SourceOrdering,
)
from pipeline.fetch.event_time import time_in_name
from pipeline.fetch.fetched import ETAG, Fetched, FetchOptions, state_of
from pipeline.fetch.places import check_private


async def fetch_files_glob(
    step: FetchStepFilesGlob, state: SourceState | None, options: FetchOptions
) -> Fetched | None:
    """The first file behind that of ``state``; errors as ``fetch``."""
    check_private(options, step.path)
    rank = _ranking(step)
    pattern = Path(unquote(urlsplit(step.path).path) if step.path.startswith("file:") else step.path)
    names = await asyncio.to_thread(_matching, pattern)
    left = None if state is None or state.kind != ETAG else state.value
    after = None if left is None else rank(left)
    later = sorted((name for name in names if after is None or rank(name) > after), key=rank)
    if later:
        name = later[0]
        return Fetched(
            pattern.parent / name, state_of(ETAG, name), _event_time(name, step), has_more=len(later) > 1, name=name
        )
    if left is None:
        raise NotFound(f"no file matches {pattern}")
    return None


def _ranking(step: FetchStepFilesGlob) -> Callable[[str], tuple[Instant | None, bytes]]:
    """What decides the order: the name, bytewise, behind the event time if the step says so."""
    source = step.event_time
    if isinstance(source, EventTimeSourceFromMetadata):
        raise UnsupportedOperation("files have no event time in their metadata", hint="FromPath or FromSystemTime")
    if step.order is not SourceOrdering.BY_EVENT_TIME:
        return lambda name: (None, os.fsencode(name))
    if not isinstance(source, EventTimeSourceFromPath):
        raise UnsupportedOperation("files without an event time have no order by it", hint="eventTime: FromPath")
    return lambda name: (time_in_name(name, source), os.fsencode(name))


def _matching(pattern: Path) -> list[str]:
    if not pattern.parent.is_dir():
        return []
    return [path.name for path in pattern.parent.iterdir() if fnmatchcase(path.name, pattern.name) and path.is_file()]


def _event_time(name: str, step: FetchStepFilesGlob) -> Instant | None:
    return time_in_name(name, step.event_time) if isinstance(step.event_time, EventTimeSourceFromPath) else None
