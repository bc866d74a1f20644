"""Which datasets a derivative is computed from, as its chain says now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, OdfError
from opendatafabric.metadata.events import SetTransform
from pipeline.commit import position_of
from pipeline.transform.input_chains import FindInput
from storage.dataset import Dataset

MayRead = Callable[[DatasetId], Awaitable[bool]]


async def input_ids(dataset: Dataset) -> list[DatasetId]:
    """In the order of the transform. None of a root, nor of a dataset whose chain cannot be read: whoever computes it
    will say why."""
    try:
        transform = (await position_of(dataset)).state.transform
    except OdfError:
        return []
    inputs = transform.inputs if isinstance(transform, SetTransform) else ()
    return [each.dataset_ref for each in inputs if isinstance(each.dataset_ref, DatasetId)]


def readable(find: FindInput, may_read: MayRead) -> FindInput:
    """Inputs for somebody who may not read all of them: what is not for him is nowhere."""

    async def find_readable(dataset_id: DatasetId) -> Dataset:
        if not await may_read(dataset_id):
            raise unreadable(dataset_id)
        return await find(dataset_id)

    return find_readable


def unreadable(dataset_id: DatasetId) -> DatasetNotFound:
    """An input that is not there for whoever asks."""
    return DatasetNotFound(
        f"input {dataset_id} is not here, or not for those for whom the derivative is computed",
        hint="its owner may give them the role of a reader",
    )
