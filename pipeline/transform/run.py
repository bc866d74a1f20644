"""One step of a derivative from end to end: what is new in its inputs, an engine that computes, and the commit.

A step that was broken off anywhere has left the old head, or the new one with all it says. Of two at the same time the
one that comes second finds the head moved, and fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from opendatafabric.did import DatasetId
from opendatafabric.errors import HashMismatch
from opendatafabric.instant import Instant
from opendatafabric.metadata.slices import DataSlice
from pipeline.commit import Outcome, position_of, run_commit
from pipeline.engine_contract.elsewhere import NONE_ELSEWHERE, EnginesElsewhere
from pipeline.given_slices import give_slice
from pipeline.ingest import Engine, folders_of
from pipeline.ingest_request import IngestAnswer
from pipeline.known_chains import KnownChains
from pipeline.reading.slice_files import hash_of_file
from pipeline.transform.input_chains import FindInput, planned_step
from pipeline.transform.made import MadeStep
from pipeline.transform.plan import PlannedInput, TransformPlan
from pipeline.transform.request import GivenInput, TransformRequest
from pipeline.worker_place import JobFolders
from storage.dataset import Dataset

JOB: Final = "transform"


async def transform(
    dataset: Dataset,
    find: FindInput,
    engine: Engine,
    *,
    system_time: Instant,
    elsewhere: EnginesElsewhere = NONE_ELSEWHERE,
) -> Outcome | None:
    """Bring a derivative up to date with its inputs; ``None`` if nothing is new in them, or one has no schema yet.

    Engines that are ``elsewhere`` are asked instead of ours.

    Raises:
        UnsupportedOperation: no derivative, or its inputs were changed in a way that chains do not allow.
        DatasetNotFound: an input is not here.
        ChainsDiverged: the history of an input was replaced.
        HashMismatch: a slice of an input is damaged.
        InvalidQuery, IncompatibleSchema, MalformedData, LimitExceeded: the queries, or what they give, do not hold.
        EngineUnavailable, EngineFailed, EngineDied: there is no engine, it failed, or it ended in the middle.
        RefConflict, ChainError, StorageError: as ``run_commit``; the head has not moved then either.
    """
    async with folders_of(engine) as folders:
        chains = KnownChains(folders.chains)
        await chains.recall(dataset)
        plan, inputs = await planned_step(await position_of(dataset), _recalled(find, chains))
        if not plan.is_due:
            return None
        step = await make_step(plan, inputs, dataset, engine, folders, system_time=system_time, elsewhere=elsewhere)
        planned = step.planned(plan.position, system_time)
        outcome = await run_commit(dataset, planned)
        await chains.note(dataset, outcome.new_head, plan.position.state)
        return outcome


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
    request = await _request(plan, inputs, folders, system_time)
    address = elsewhere.place_of(plan.transform.transform)
    if address is None:
        answer = IngestAnswer.from_message(await engine.run(JOB, request.to_message()))
        return MadeStep(answer, plan.event(answer.data), plan.watermark, request.made)
    from pipeline.engine_contract.remote_step import made_at  # noqa: PLC0415 - of the extra `spark`

    return await made_at(address, plan, request, dataset, folders)


async def _request(
    plan: TransformPlan, inputs: Sequence[Dataset], folders: JobFolders, system_time: Instant
) -> TransformRequest:
    given = [await _given(each, dataset, folders) for each, dataset in zip(plan.inputs, inputs, strict=True)]
    return TransformRequest(
        transform=plan.transform,
        inputs=tuple(given),
        made=folders.made / "slice",
        system_time=system_time,
        vocabulary=plan.position.vocabulary,
        schema=plan.position.schema,
        next_offset=plan.position.next_offset,
    )


async def _given(planned: PlannedInput, dataset: Dataset, folders: JobFolders) -> GivenInput:
    assert planned.schema is not None  # the plan is due
    slices = [await _proved(dataset, each, folders) for each in planned.slices]
    return GivenInput(planned.alias, planned.schema, planned.vocabulary, tuple(slices), planned.interval)


async def _proved(dataset: Dataset, data_slice: DataSlice, folders: JobFolders) -> Path:
    """The file of a slice, if it is the one that the chain of the input names: others will compute from the same."""
    path = await give_slice(dataset, data_slice.physical_hash, folders)
    found = await asyncio.to_thread(hash_of_file, path)
    if found != data_slice.physical_hash:
        raise HashMismatch(
            "a slice of an input is damaged",
            expected=data_slice.physical_hash,
            found=found,
            hint="run odf fsck; fetch it again from a mirror",
        )
    return path
