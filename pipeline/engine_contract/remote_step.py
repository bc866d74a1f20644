"""A step of a derivative by an engine elsewhere: the plan as a request, and what comes back as the next block.

What it says of its slice is looked at before anything is believed: offsets, columns, that there is a file. Hashes are
our own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.event_schema import arrow_schema
from opendatafabric.data.logical_hash import logical_hash_parquet
from opendatafabric.data.slice_format import check_slice_schema, first_wrong_offset
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.errors import IncompatibleSchema, ProtocolViolation
from opendatafabric.instant import Instant
from opendatafabric.limits import JOB_S_MAX
from opendatafabric.metadata import engine_messages as contract
from opendatafabric.metadata.events import SetDataSchema
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from pipeline.changes_file import count_changes
from pipeline.engine_contract.client import ask
from pipeline.engine_contract.methods import TRANSFORM
from pipeline.engine_contract.reached import ReachedEngine
from pipeline.ingest_request import IngestAnswer, RowCounts
from pipeline.transform.made import MadeStep, checkpoint_in
from pipeline.transform.output import evolved
from pipeline.transform.plan import PlannedInput, TransformPlan
from pipeline.transform.request import GivenInput, Memory, TransformRequest
from storage.records.slice_files import hash_of_file

T = TypeVar("T")


async def made_elsewhere(engine: ReachedEngine, plan: TransformPlan, request: TransformRequest) -> MadeStep:
    """What the engine makes of the step.

    Raises:
        InvalidQuery, EngineUnavailable, EngineFailed, EngineDied, UnsupportedVersion: as ``client.ask``.
        ProtocolViolation: what it made is not what it says.
        IncompatibleSchema: its columns are not those of the dataset.
    """
    assert request.memory is not None  # chains were read
    asked = await asyncio.to_thread(_asked, engine, plan, request, request.memory)
    said = await ask(engine.address, TRANSFORM, asked, timeout_s=JOB_S_MAX)
    answer = await _looked_at(_answer, request, said)
    left = await _looked_at(checkpoint_in, request.memory.made)
    watermark = _not_back(said.new_watermark, plan.position.state.watermark)
    event = plan.event_of(answer.data, watermark, left)
    answer = replace(answer, checkpoint=left)
    return MadeStep(answer, event, watermark, request.made, request.memory.made, engine.made_by(plan.engine))


def _asked(
    engine: ReachedEngine, plan: TransformPlan, request: TransformRequest, memory: Memory
) -> contract.TransformRequest:
    dataset_id = plan.position.seed.dataset_id
    inputs = [
        _input(engine, planned, each, f"schema-{index}", request.system_time)
        for index, (planned, each) in enumerate(zip(plan.inputs, request.inputs, strict=True))
    ]
    return contract.TransformRequest(
        dataset_id,
        _nameless(dataset_id),
        request.system_time,
        contract.DatasetVocabulary(**asdict(request.vocabulary)),
        request.transform.transform,
        tuple(inputs),
        request.next_offset,
        None if memory.checkpoint is None else engine.path_of(memory.checkpoint),
        engine.path_of(memory.made),
        engine.path_of(request.made),
    )


def _input(
    engine: ReachedEngine, planned: PlannedInput, given: GivenInput, schema: str, system_time: Instant
) -> contract.TransformRequestInput:
    schema_file = engine.folders.given / schema
    pq.write_table(arrow_schema(given.schema).empty_table(), schema_file)
    return contract.TransformRequestInput(
        planned.event.dataset_id,
        _nameless(planned.event.dataset_id),
        given.alias,
        contract.DatasetVocabulary(**asdict(given.vocabulary)),
        given.interval,
        tuple(map(engine.path_of, given.slices)),
        engine.path_of(schema_file),
        tuple(contract.Watermark(system_time, moment) for moment in planned.watermarks),
    )


def _nameless(dataset_id: DatasetId) -> DatasetAlias:
    """Chains do not know what their dataset is called; engines use it for messages only."""
    return DatasetAlias.from_text(dataset_id.multibase)


def _answer(request: TransformRequest, said: contract.TransformResponseSuccess) -> IngestAnswer:
    rows = RowCounts(sum(len(each.interval) for each in request.inputs if each.interval is not None))
    interval, file = said.new_offset_interval, request.made
    if interval is None:
        return IngestAnswer(rows)
    schema = pq.read_schema(file).remove_metadata()
    check_slice_schema(schema, request.vocabulary)
    vocabulary = request.vocabulary
    records = pq.read_table(file, columns=[vocabulary.operation_type_column, vocabulary.offset_column])
    _check_offsets(records.column(vocabulary.offset_column), interval, request.next_offset)
    data = DataSlice(logical_hash_parquet(str(file)), hash_of_file(file), interval, file.stat().st_size)
    counted = count_changes(records.select([vocabulary.operation_type_column]))
    return IngestAnswer(replace(counted, read=rows.read), _new_schema(schema, request.schema), data)


def _check_offsets(offsets: Any, interval: OffsetInterval, start: int) -> None:
    counts_up = first_wrong_offset(offsets.combine_chunks(), start) is None
    if not counts_up or interval.start != start or len(interval) != len(offsets):
        raise ProtocolViolation(
            "the slice of the engine has other offsets than it says",
            expected=f"{len(interval)} records from {interval.start} on, the next one being {start}",
            found=f"{len(offsets)} records",
        )


def _new_schema(schema: pa.Schema, in_force: SetDataSchema | None) -> SetDataSchema | None:
    """What a first slice says of the columns; later ones have the same in the same order, and perhaps more behind."""
    found = SetDataSchema(schema=arrow_schema_to_odf(schema))
    if in_force is None:
        return found
    ours, theirs = ([(field.name, field.type) for field in arrow_schema(each)] for each in (in_force, found))
    if theirs[: len(ours)] != ours or not all(schema.field(name).nullable for name, _ in theirs[len(ours) :]):
        raise IncompatibleSchema(
            "the engine gives other columns than the dataset has",
            expected=", ".join(f"{name} {kind}" for name, kind in ours),
            found=", ".join(f"{name} {kind}" for name, kind in theirs),
            hint="a changed query may give more columns, behind the others: derive a new dataset for others",
        )
    return evolved(schema, in_force)


def _not_back(said: Instant | None, before: Instant | None) -> Instant | None:
    known = [each for each in (said, before) if each is not None]
    return max(known, default=None)


async def _looked_at(function: Callable[..., T], *arguments: object) -> T:
    """In a thread; a file that cannot be read is a fault of the engine."""
    try:
        return await asyncio.to_thread(function, *arguments)
    except (pa.ArrowException, OSError) as error:
        raise ProtocolViolation(f"what the engine made cannot be read: {error}") from None
