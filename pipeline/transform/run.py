"""One step of a derivative from end to end: what is new in its inputs, an engine that computes, and the commit.

A step that was broken off anywhere has left the old head, or the new one with all it says. Of two at the same time the
one that comes second finds the head moved, and fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from opendatafabric.did import DatasetId
from opendatafabric.errors import HashMismatch, UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.layout import checkpoint_key
from opendatafabric.limits import STEP_RECORDS_MAX
from opendatafabric.multihash import Multihash
from pipeline.commit import Outcome, Position, position_of, run_commit
from pipeline.engine_contract.elsewhere import NONE_ELSEWHERE, EnginesElsewhere
from pipeline.engine_records import MadeBy, note_maker
from pipeline.given_slices import give_object, give_slice
from pipeline.ingest import Engine, folders_of
from pipeline.ingest_request import IngestAnswer
from pipeline.known_chains import KnownChains
from pipeline.transform.consecutive import joined
from pipeline.transform.input_chains import FindInput, planned_step
from pipeline.transform.made import MadeStep
from pipeline.transform.plan import PlannedInput, TransformPlan
from pipeline.transform.request import GivenInput, Memory, TransformRequest
from pipeline.worker_place import JobFolders
from storage.dataset import Dataset
from storage.records.slice_files import hash_of_file

JOB: Final = "transform"
CONSECUTIVE_JOB: Final = "transform-consecutive"


async def transform(
    dataset: Dataset,
    find: FindInput,
    engine: Engine,
    *,
    system_time: Instant,
    elsewhere: EnginesElsewhere = NONE_ELSEWHERE,
    records_max: int = STEP_RECORDS_MAX,
) -> Outcome | None:
    """Make the next step of a derivative; ``None`` if nothing is new in its inputs, or one has no schema yet.

    It takes all that is new, but what has more than ``records_max`` records only in several steps. Engines that are
    ``elsewhere`` are asked instead of ours.

    Raises:
        UnsupportedOperation: no derivative, or its inputs were changed in a way that chains do not allow.
        DatasetNotFound: an input is not here.
        ChainsDiverged: the history of an input was replaced.
        HashMismatch: a slice of an input is damaged.
        InvalidQuery, IncompatibleSchema, MalformedData, LimitExceeded: the queries, or what they give, do not hold.
        EngineUnavailable, EngineFailed, EngineDied: there is no engine, it failed, or it ended in the middle.
        RefConflict, ChainError, StorageError: as ``run_commit``; the head has not moved then either.
    """
    while True:
        async with folders_of(engine) as folders:
            chains = KnownChains(folders.chains)
            await chains.recall(dataset)
            position = await position_of(dataset)
            plan, inputs = await planned_step(position, _recalled(find, chains), records_max=records_max)
            if not plan.is_due:
                return None
            step = await make_step(plan, inputs, dataset, engine, folders, system_time=system_time, elsewhere=elsewhere)
            if step.event is None and plan.is_cut:
                records_max *= 2  # no block says that these records were read: they are read with the next ones
                continue
            outcome = await _committed(dataset, step, position, system_time)
            await chains.note(dataset, outcome.new_head, position.state)
            return outcome


async def _committed(dataset: Dataset, step: MadeStep, position: Position, system_time: Instant) -> Outcome:
    planned = step.planned(position, system_time)
    outcome = await run_commit(dataset, planned)
    if step.event is not None:
        await note_maker(dataset, before=outcome.old_head, step=planned.blocks[-1], made_by=step.made_by)
    return outcome


async def all_steps(
    dataset: Dataset,
    find: FindInput,
    engine: Engine,
    *,
    clock: Callable[[], Instant],
    elsewhere: EnginesElsewhere = NONE_ELSEWHERE,
    records_max: int = STEP_RECORDS_MAX,
) -> AsyncIterator[Outcome]:
    """Step after step until nothing is new; all as in ``transform``. Steps that were made before an error stay."""
    while True:
        outcome = await transform(
            dataset, find, engine, system_time=clock(), elsewhere=elsewhere, records_max=records_max
        )
        if outcome is not None:
            yield outcome
        if outcome is None or not outcome.changed:
            return


def _recalled(find: FindInput, chains: KnownChains) -> FindInput:
    """Long chains of inputs are not read from their beginning, if somebody noted what is in them."""

    async def find_and_recall(dataset_id: DatasetId) -> Dataset:
        found = await find(dataset_id)
        await chains.recall(found)
        return found

    return find_and_recall


async def make_step(
    plan: TransformPlan,
    inputs: Sequence[Dataset],
    dataset: Dataset,
    engine: Engine,
    folders: JobFolders,
    *,
    system_time: Instant,
    elsewhere: EnginesElsewhere = NONE_ELSEWHERE,
) -> MadeStep:
    """What the engine that the transform of ``dataset`` names makes of a step over ``inputs``. Nothing is appended.

    Raises:
        HashMismatch, InvalidQuery, EngineUnavailable, …: as ``transform``.
    """
    given = await request_of(plan, inputs, folders, system_time=system_time)
    memory = await _memory(plan, dataset, folders)
    request = replace(given, memory=memory)
    place = elsewhere.place_of(plan.transform.transform)
    if place is None:
        told = await engine.run(JOB, request.to_message())
        answer, made_by = IngestAnswer.from_message(told), MadeBy.from_versions(plan.engine, told["versions"])
        event = plan.event(answer.data, answer.checkpoint)
        return MadeStep(answer, event, plan.watermark, request.made, memory.made, made_by)
    from pipeline.engine_contract.reached import reached  # noqa: PLC0415 - of the extra `spark`
    from pipeline.engine_contract.remote_step import made_elsewhere  # noqa: PLC0415

    async with reached(place, elsewhere, folders) as other:
        return await made_elsewhere(other, plan, request)


async def make_consecutive_steps(
    plans: Sequence[tuple[TransformPlan, Instant]], source: Dataset, engine: Engine, folders: JobFolders
) -> list[MadeStep]:
    """Steps of the engine ``spark`` over ``source`` alone that follow one another, with their system times, in one job.

    Their transform and all schemas are the same; nothing is appended.

    Raises:
        UnsupportedOperation: they can only be made one by one.
        HashMismatch, InvalidQuery, EngineUnavailable, …: as ``transform``; it may be because of one of them.
    """
    requests = [await request_of(plan, [source], folders, system_time=at) for plan, at in plans]
    requests = [replace(each, made=folders.made / f"slice-{number}") for number, each in enumerate(requests)]
    asked = joined(requests)
    if asked is None:
        raise UnsupportedOperation("the steps do not follow one another", hint="make them one by one")
    told = await engine.run(CONSECUTIVE_JOB, asked.to_message())
    made_by = MadeBy.from_versions("spark", told["versions"])
    answers = map(IngestAnswer.from_message, told["answers"])
    return [
        MadeStep(answer, plan.event(answer.data), plan.watermark, request.made, folders.made / "checkpoint", made_by)
        for (plan, _), request, answer in zip(plans, requests, answers, strict=True)
    ]


async def request_of(
    plan: TransformPlan, inputs: Sequence[Dataset], folders: JobFolders, *, system_time: Instant
) -> TransformRequest:
    """What the engine is asked, with the slices in its folder, but for what it remembers; errors as ``transform``."""
    given = [await _given(each, found, folders) for each, found in zip(plan.inputs, inputs, strict=True)]
    return TransformRequest(
        transform=plan.transform,
        inputs=tuple(given),
        made=folders.made / "slice",
        system_time=system_time,
        vocabulary=plan.position.vocabulary,
        schema=plan.position.schema,
        next_offset=plan.position.next_offset,
    )


async def _memory(plan: TransformPlan, dataset: Dataset, folders: JobFolders) -> Memory:
    left = await _left(plan, dataset, folders)
    return Memory(folders.made / "checkpoint", left, plan.position.state.watermark, plan.watermark)


async def _left(plan: TransformPlan, dataset: Dataset, folders: JobFolders) -> Path | None:
    """The checkpoint of the last step."""
    left = plan.last_checkpoint
    if left is None:
        return None
    path = await give_object(dataset, checkpoint_key(left), "checkpoint", folders)
    return await _proved(path, left, "the checkpoint of the last step")


async def _given(planned: PlannedInput, dataset: Dataset, folders: JobFolders) -> GivenInput:
    assert planned.schema is not None  # the plan is due
    hashes = [each.physical_hash for each in planned.slices]
    paths = [await give_slice(dataset, each, folders) for each in hashes]
    slices = [await _proved(*each, "a slice of an input") for each in zip(paths, hashes, strict=True)]
    return GivenInput(
        planned.alias, planned.schema, planned.vocabulary, tuple(slices), planned.interval, planned.blocks
    )


async def _proved(path: Path, expected: Multihash, what: str) -> Path:
    """The file, if it is the one that a chain names: others will compute from the same."""
    found = await asyncio.to_thread(hash_of_file, path)
    if found != expected:
        raise HashMismatch(
            f"{what} is damaged",
            expected=expected,
            found=found,
            hint="run odf fsck; fetch it again from a mirror",
        )
    return path
