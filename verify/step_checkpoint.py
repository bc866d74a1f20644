"""What an engine left to remember, against what there was to remember.

Known of two: checkpoints of the engine ``spark`` of the reference hold the watermark of each input, those of the
dialect ``odf-epoch/1`` the records that are still needed. How the former are packed is the affair of the engine, and so
is what any other one keeps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedData
from opendatafabric.instant import Instant
from opendatafabric.layout import checkpoint_key
from opendatafabric.limits import ENGINE_CHECKPOINT_BYTES_MAX
from opendatafabric.metadata.events import ExecuteTransform
from opendatafabric.metadata.slices import Checkpoint
from opendatafabric.metadata.transform import TransformSql
from pipeline.engine_contract.checkpoint import read_checkpoint
from pipeline.epochs.checkpoint import same_checkpoint
from pipeline.epochs.version import is_in_epochs
from pipeline.given_slices import give_object
from pipeline.transform.made import MadeStep
from pipeline.transform.plan import TransformPlan
from pipeline.worker_place import JobFolders
from storage.dataset import Dataset
from verify.replayed import StepDifference


async def differing_checkpoint(
    dataset: Dataset, recorded: ExecuteTransform, plan: TransformPlan
) -> tuple[StepDifference, ...]:
    """What the checkpoint of the step says of its inputs that their chains do not.

    Raises:
        NotFound, StorageError: it cannot be read.
    """
    left = recorded.new_checkpoint
    if left is None or not _keeps_watermarks(plan.transform.transform):
        return ()
    if left.size > ENGINE_CHECKPOINT_BYTES_MAX:
        return (StepDifference("the checkpoint is larger than one of this engine can be"),)
    raw = await dataset.objects.read(checkpoint_key(left.physical_hash), size_max=ENGINE_CHECKPOINT_BYTES_MAX)
    try:
        said = read_checkpoint(raw)
    except MalformedData as error:
        return (StepDifference(error.message),)
    reached = {each.event.dataset_id: each.last_watermark for each in plan.inputs if each.last_watermark is not None}
    if said == reached:
        return ()
    return (StepDifference("the checkpoint has other watermarks than the inputs", _told(said), _told(reached)),)


async def differing_memory(
    dataset: Dataset, recorded: ExecuteTransform, plan: TransformPlan, made: MadeStep, folders: JobFolders
) -> tuple[StepDifference, ...]:
    """Records that the checkpoint of the step has and the same step made again does not leave, or the other way round.

    Raises:
        NotFound, StorageError: it cannot be read.
    """
    said, left = recorded.new_checkpoint, made.answer.checkpoint
    if not is_in_epochs(plan.transform.transform) or said == left:
        return ()
    if said is not None and left is not None:
        file = await give_object(dataset, checkpoint_key(said.physical_hash), "recorded-checkpoint", folders)
        if await asyncio.to_thread(same_checkpoint, file, made.checkpoint):
            return ()
    message = "the checkpoint has other records than those that have to be remembered"
    return (StepDifference(message, _hash(said), _hash(left)),)


def _hash(checkpoint: Checkpoint | None) -> str:
    return "none" if checkpoint is None else str(checkpoint.physical_hash)


def _keeps_watermarks(transform: TransformSql) -> bool:
    return transform.engine.lower() == "spark" and not is_in_epochs(transform)


def _told(watermarks: Mapping[DatasetId, Instant]) -> str:
    return ", ".join(f"{dataset_id} {moment}" for dataset_id, moment in sorted(watermarks.items(), key=str)) or "none"
