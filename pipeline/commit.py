"""The end of an ingest or a transform: what an engine made becomes objects and blocks of the dataset, or nothing does.

One transaction: the slice is stored, then the blocks, then the head moves from where it was at the start. Whatever
fails before leaves the old head (spec: Data Ingestion, Watermarks, Source State).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opendatafabric.chain.objects import ObjectFile, ObjectKind, objects_of
from opendatafabric.chain.rules.add_data import checkpoint_hash
from opendatafabric.chain.state import ChainState
from opendatafabric.codec.block_codec import encode_block
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import ChainError, RefNotFound
from opendatafabric.instant import Instant
from opendatafabric.limits import OBJECT_BYTES_MAX, READ_CHUNK_BYTES
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.events import (
    AddData,
    DataEvent,
    MetadataEvent,
    Seed,
    SetDataSchema,
    SetVocab,
    known_event,
)
from opendatafabric.metadata.slices import SourceState
from opendatafabric.multihash import Multihash
from pipeline.ingest_request import IngestAnswer
from storage.dataset import Dataset, object_key
from storage.quarantine import receive_object


@dataclass(frozen=True, slots=True)
class Position:
    """Where a dataset stands when something begins that may add to it."""

    head: Multihash
    state: ChainState

    @property
    def next_offset(self) -> int:
        """Of the next record."""
        last = self.state.last_offset
        return 0 if last is None else last + 1

    @property
    def seed(self) -> Seed:
        """What the dataset is: its id and kind."""
        if self.state.seed is None:
            raise ChainError("the chain does not begin with a Seed", rule="B3", sequence_number=0)
        return known_event(self.state.seed, Seed)

    @property
    def vocabulary(self) -> DatasetVocabulary:
        """Names of the system columns."""
        vocab = self.state.vocab
        return DatasetVocabulary.from_event(None if vocab is None else known_event(vocab, SetVocab))

    @property
    def schema(self) -> SetDataSchema | None:
        """The schema in force."""
        return None if self.state.data_schema is None else known_event(self.state.data_schema, SetDataSchema)

    @property
    def source_state(self) -> SourceState | None:
        """What the last write left of its source."""
        return None if self.state.add_data is None else known_event(self.state.add_data, AddData).new_source_state


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an ingest or a step; ``new_head`` is the old one if nothing changed."""

    old_head: Multihash
    new_head: Multihash
    answer: IngestAnswer
    watermark: Instant | None

    @property
    def changed(self) -> bool:
        """Whether there is a new block."""
        return self.old_head != self.new_head


@dataclass(frozen=True, slots=True)
class PlannedCommit:
    """What will come of it if the head stays where it was: which head that will be is known before it is."""

    outcome: Outcome
    blocks: tuple[HashedBlock, ...]
    made: Path
    checkpoint: Path | None = None

    def path_of(self, file: ObjectFile) -> Path:
        """Where the object lies now."""
        return self.checkpoint if self.checkpoint is not None and file.kind is ObjectKind.CHECKPOINT else self.made


async def position_of(dataset: Dataset) -> Position:
    """Where the dataset stands now.

    Raises:
        RefNotFound: it has no head.
        BlockNotFound, HashMismatch, MalformedBlock: its chain is damaged.
    """
    head = await dataset.head()
    if head is None:
        raise RefNotFound("the dataset has no head yet")
    return await position_at(dataset, head)


async def position_at(dataset: Dataset, head: Multihash) -> Position:
    """Where the dataset stood when ``head`` was its last block; errors as ``position_of``."""
    return Position(head, await dataset.chain_state(head))


def plan_commit(
    position: Position,
    answer: IngestAnswer,
    *,
    made: Path,
    system_time: Instant,
    source_state: SourceState | None = None,
    watermark: Instant | None = None,
) -> PlannedCommit:
    """What is to be appended to a dataset at ``position``; ``made`` is the slice that ``answer`` describes.

    ``watermark`` stands for the one that the records have. Nothing is appended if nothing changed.
    """
    event = _add_data(position, answer, source_state=source_state, watermark=watermark)
    return planned_commit(
        position, answer, event if _changes(event, position) else None, made=made, system_time=system_time
    )


def planned_commit(
    position: Position,
    answer: IngestAnswer,
    event: DataEvent | None,
    *,
    made: Path,
    system_time: Instant,
    checkpoint: Path | None = None,
) -> PlannedCommit:
    """The same for an ``event`` that is made already; ``None`` says that nothing changed but perhaps the schema."""
    events: list[MetadataEvent] = [] if answer.schema is None else [answer.schema]
    if event is not None:
        events.append(event)
    blocks = _chained(events, position, system_time)
    watermark = position.state.watermark if event is None else event.new_watermark
    new_head = blocks[-1].hash if blocks else position.head
    return PlannedCommit(Outcome(position.head, new_head, answer, watermark), tuple(blocks), made, checkpoint)


async def run_commit(dataset: Dataset, planned: PlannedCommit) -> Outcome:
    """Append what was planned, all or nothing.

    Raises:
        RefConflict: another write came first.
        ChainError: a rule of the chain forbids it: time or watermark would go back.
        StorageError: the stores failed.
    """
    if not planned.blocks:
        return planned.outcome
    files = [file for block in planned.blocks for file in objects_of(block)]
    async with dataset.held(files):
        for file in files:
            await receive_object(
                dataset.writable_objects(),
                object_key(file),
                _pieces(planned.path_of(file)),
                expected_hash=file.physical_hash,
                size_max=OBJECT_BYTES_MAX,
            )
        await dataset.append(planned.blocks, expected_head=planned.outcome.old_head)
    return planned.outcome


async def append_event(
    dataset: Dataset, position: Position, event: MetadataEvent, *, system_time: Instant
) -> Multihash:
    """Append an event that names no objects to a dataset that is at ``position``; the new head. Errors as
    ``run_commit``."""
    blocks = _chained([event], position, system_time)
    await dataset.append(blocks, expected_head=position.head)
    return blocks[-1].hash


def counted(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """How many blocks and records they made, as plain values."""
    rows = [outcome.answer.rows for outcome in outcomes]
    return {
        "blocks": sum(outcome.changed for outcome in outcomes),
        "read": sum(each.read for each in rows),
        "appended": sum(each.appended for each in rows),
        "retracted": sum(each.retracted for each in rows),
        "corrected": sum(each.corrected for each in rows),
    }


def _add_data(
    position: Position, answer: IngestAnswer, *, source_state: SourceState | None, watermark: Instant | None
) -> AddData:
    before = position.state.add_data
    left = None if before is None else known_event(before, AddData).new_checkpoint
    known = [time for time in (position.state.watermark, answer.last_event_time) if time is not None]
    return AddData(
        prev_checkpoint=checkpoint_hash(left),
        prev_offset=position.state.last_offset,
        new_data=answer.data,
        new_watermark=watermark or (max(known) if known else None),
        new_source_state=source_state,
    )


def _changes(event: AddData, position: Position) -> bool:
    before = (position.state.watermark, position.source_state)
    return event.new_data is not None or (event.new_watermark, event.new_source_state) != before


def _chained(events: list[MetadataEvent], position: Position, system_time: Instant) -> list[HashedBlock]:
    blocks: list[HashedBlock] = []
    previous, number = position.head, position.state.sequence_number
    for event in events:
        number += 1
        blocks.append(encode_block(MetadataBlock(system_time, previous, number, event)))
        previous = blocks[-1].hash
    return blocks


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while piece := await asyncio.to_thread(file.read, READ_CHUNK_BYTES):
            yield piece
    finally:
        file.close()
