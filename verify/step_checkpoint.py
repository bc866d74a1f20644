"""What an engine left to remember, against what there was to remember.

Known of the engine ``spark`` of the reference alone: its checkpoints hold the watermark of each input. How it packs
them is its own affair, and what any other engine keeps too.
"""

from __future__ import annotations

from collections.abc import Mapping

from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedData
from opendatafabric.instant import Instant
from opendatafabric.layout import checkpoint_key
from opendatafabric.limits import ENGINE_CHECKPOINT_BYTES_MAX
from opendatafabric.metadata.events import ExecuteTransform
from opendatafabric.metadata.transform import TransformSql
from pipeline.engine_contract.checkpoint import read_checkpoint
from pipeline.epochs.version import is_in_epochs
from pipeline.transform.plan import TransformPlan
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


def _keeps_watermarks(transform: TransformSql) -> bool:
    return transform.engine.lower() == "spark" and not is_in_epochs(transform)


def _told(watermarks: Mapping[DatasetId, Instant]) -> str:
    return ", ".join(f"{dataset_id} {moment}" for dataset_id, moment in sorted(watermarks.items(), key=str)) or "none"
