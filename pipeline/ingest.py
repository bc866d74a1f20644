"""Ingest from end to end: bytes of a source, an engine that makes a slice of them, and the commit.

The engine lives in another process and sees files only: what it needs is put into one folder, what it makes lies in
another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from opendatafabric.errors import IncompatibleSchema, MalformedData, MalformedSource, NotFound, UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import DatasetKind
from opendatafabric.metadata.slices import SourceState
from pipeline.commit import Outcome, PlannedCommit, Position, plan_commit, position_of, run_commit
from pipeline.history_files import Past
from pipeline.ingest_request import SPOILED, IngestAnswer, IngestRequest, RowCounts, Source
from pipeline.known_chains import KnownChains
from pipeline.worker_place import JobFolders
from storage.dataset import Dataset
from storage.leases import to_its_end

JOB: Final = "ingest"


class Engine(Protocol):
    """What runs jobs: the worker's client, or something in this process."""

    def folders(self) -> AbstractContextManager[JobFolders]:
        """Where files go to a job and come back."""
        ...

    def run(self, job: str, arguments: dict[str, Any]) -> Awaitable[dict[str, Any]]:
        """The answer of a job."""
        ...


@dataclass(frozen=True, slots=True)
class Given:
    """What a source gave. ``event_time`` is for records that have none, ``state`` where the source left off.

    ``name`` is what people call the file: errors about what is in it begin with that.
    """

    file: Path
    event_time: Instant | None = None
    state: SourceState | None = None
    name: str | None = None


async def ingest(
    dataset: Dataset,
    engine: Engine,
    given: Given,
    *,
    choose: Callable[[Position], Source],
    system_time: Instant,
    watermark: Instant | None = None,
) -> Outcome:
    """Add what ``given`` holds to the dataset, read and merged as the source that is chosen says.

    Raises:
        UnsupportedOperation, MalformedSource, EngineUnavailable, …: as ``planned_ingest``.
        RefConflict, ChainError, StorageError: as ``run_commit``; the head has not moved then either.
    """
    planning = planned_ingest(dataset, engine, given, choose=choose, system_time=system_time, watermark=watermark)
    async with planning as planned:
        return await run_commit(dataset, planned)


@asynccontextmanager
async def planned_ingest(
    dataset: Dataset,
    engine: Engine,
    given: Given,
    *,
    choose: Callable[[Position], Source],
    system_time: Instant,
    watermark: Instant | None = None,
) -> AsyncIterator[PlannedCommit]:
    """The engine's part of an ingest: what is to be committed, inside the context. Left without an error, it has been.

    Raises:
        UnsupportedOperation: the dataset is derived from others.
        MalformedSource, MalformedData, IncompatibleSchema, InvalidQuery: the bytes are not what the source says.
        NotFound: the file is gone, or may not be read.
        EngineUnavailable, EngineDied: there is no engine, or it ended in the middle.
        RefNotFound, StorageError: the dataset cannot be read.
    """
    async with folders_of(engine) as folders:
        chains = KnownChains(folders.chains)
        await chains.recall(dataset)
        position = await position_of(dataset)
        if position.seed.dataset_kind is not DatasetKind.ROOT:
            raise UnsupportedOperation("data enter root datasets only", hint="a derivative is computed from its inputs")
        source = choose(position)
        past = Past(dataset, position, source.merge)
        request = await _request(past, source, given, folders, system_time)
        with _named(given):
            answered = await engine.run(JOB, request.to_message())
            if answered == SPOILED:
                request = replace(request, made=folders.made / "slice-anew", history=await past.give_anew(folders))
                answered = await engine.run(JOB, request.to_message())
        planned = plan_commit(
            position,
            IngestAnswer.from_message(answered),
            made=request.made,
            system_time=system_time,
            source_state=given.state,
            watermark=watermark,
        )
        yield planned
        await past.keep(folders, request.history, planned.outcome)
        await chains.note(dataset, planned.outcome.new_head, position.state)


async def _request(
    past: Past, source: Source, given: Given, folders: JobFolders, system_time: Instant
) -> IngestRequest:
    position = past.position
    return IngestRequest(
        source=source,
        file=await asyncio.to_thread(_give_input, given.file, folders),
        made=folders.made / "slice",
        system_time=system_time,
        event_time=given.event_time or system_time,
        vocabulary=position.vocabulary,
        schema=position.schema,
        next_offset=position.next_offset,
        history=await past.give(folders),
    )


@contextmanager
def _named(given: Given) -> Iterator[None]:
    """Errors about the content say which file it was."""
    try:
        yield
    except (MalformedSource, MalformedData, IncompatibleSchema) as error:
        if given.name is None:
            raise
        told = f"{given.name}: {error.message}"
        raise type(error)(told, expected=error.expected, found=error.found, hint=error.hint) from None


@asynccontextmanager
async def folders_of(engine: Engine) -> AsyncIterator[JobFolders]:
    """The folders of one job, made and removed in a thread."""
    context = engine.folders()
    folders = await asyncio.to_thread(context.__enter__)
    try:
        yield folders
    finally:
        await to_its_end(asyncio.to_thread(context.__exit__, None, None, None))


def _give_input(file: Path, folders: JobFolders) -> Path:
    try:
        return folders.give(file, "input")
    except OSError as error:
        raise NotFound(f"the file {file} cannot be read: {error.strerror}") from None


async def set_watermark(dataset: Dataset, watermark: Instant, *, system_time: Instant) -> Outcome:
    """Say that no records from before ``watermark`` will come: a block without data.

    Raises:
        ChainError: the watermark would go back.
    """
    position = await position_of(dataset)
    nothing = IngestAnswer(RowCounts())
    planned = plan_commit(
        position,
        nothing,
        made=Path(),
        system_time=system_time,
        source_state=position.source_state,
        watermark=watermark,
    )
    return await run_commit(dataset, planned)
