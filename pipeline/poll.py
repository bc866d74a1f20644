"""Polling: ask the source of a root dataset what is new, and ingest it, until there is no more.

Each answer is a block of its own, with the state of the source in it: a poll that was killed goes on behind the last
block, and one that finds nothing new makes none.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from opendatafabric.errors import RefConflict, UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import AddData, SetPollingSource
from opendatafabric.metadata.sources import FetchStepMqtt, FetchStepUrl, SourceCachingForever
from opendatafabric.source_limits import POLL_ITERATIONS_MAX
from pipeline.commit import Outcome, Position, position_of
from pipeline.fetch import FetchOptions, fetch
from pipeline.ingest import Engine, Given, ingest
from pipeline.prepare_steps import prepare_file
from storage.dataset import Dataset
from storage.progress import BYTES


def polling_source(position: Position) -> SetPollingSource:
    """The source in force.

    Raises:
        UnsupportedOperation: the dataset has none.
    """
    source = position.state.polling_source
    if isinstance(source, SetPollingSource):
        return source
    raise UnsupportedOperation("the dataset has no source to poll", hint="data are pushed into it: odf ingest")


async def poll(
    dataset: Dataset,
    engine: Engine,
    *,
    clock: Callable[[], Instant],
    options: FetchOptions,
    fetch_uncacheable: bool = False,
) -> AsyncIterator[Outcome]:
    """One outcome per answer of the source; none if nothing is new.

    A source that gave records without saying where it left off would give them again, and one that is cached for ever
    has given all: both are asked again only with ``fetch_uncacheable``.

    Raises:
        UnsupportedOperation, NotFound, PeerUnavailable, LimitExceeded: as ``fetch``.
        RefConflict: another write came in between.
        OdfError: as ``ingest``.
    """
    asking = replace(options, dataset=(await dataset.seed()).dataset_id.multibase)
    for _ in range(POLL_ITERATIONS_MAX):
        position = await position_of(dataset)
        source = polling_source(position)
        if not fetch_uncacheable and await _is_done(dataset, position, source):
            return
        with TemporaryDirectory(prefix="odf-poll-", ignore_cleanup_errors=True) as name:
            fetched = await fetch(source.fetch, position.source_state, Path(name), asking)
            if fetched is None:
                return
            async with aclosing(fetched):
                await asyncio.to_thread(_tell_size, fetched.file, options)
                source_file = await prepare_file(fetched.file, source.prepare or (), Path(name), options)
                given = Given(source_file, fetched.event_time, fetched.state, fetched.name)
                choose = partial(_unless_moved, position)
                outcome = await ingest(dataset, engine, given, choose=choose, system_time=clock())
                await fetched.confirm()
            yield outcome
        if not fetched.has_more:
            return


def _tell_size(file: Path, options: FetchOptions) -> None:
    """Of what was fetched; files of this machine are taken as they lie, and nobody has heard of them yet."""
    with suppress(OSError):
        size = file.stat().st_size
        options.progress(BYTES, size, size)


async def _is_done(dataset: Dataset, position: Position, source: SetPollingSource) -> bool:
    """Whether the source would only give again what it gave."""
    if position.state.add_data is None:
        return False
    fetch_step = source.fetch
    if isinstance(fetch_step, FetchStepUrl) and isinstance(fetch_step.cache, SourceCachingForever):
        return await _gave_something(dataset, position)
    return position.source_state is None and not isinstance(fetch_step, FetchStepMqtt)


async def _gave_something(dataset: Dataset, position: Position) -> bool:
    """Whether data were added since the source in force was set."""
    async for blocks in dataset.walk(position.head):
        for block in blocks:
            if isinstance(block.event, AddData | SetPollingSource):
                return isinstance(block.event, AddData)
    return False


def _unless_moved(asked: Position, now: Position) -> SetPollingSource:
    """The source, if the dataset still stands where it stood when the source was asked."""
    if now.head != asked.head:
        raise RefConflict("the dataset was written meanwhile", expected=asked.head, found=now.head)
    return polling_source(now)
