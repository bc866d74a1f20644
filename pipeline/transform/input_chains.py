"""Reads of the inputs of a derivative what a step needs to know: their blocks since the last one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from opendatafabric.did import DatasetId
from opendatafabric.errors import UnsupportedVersion
from opendatafabric.instant import Instant
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import AddData, DataEvent, ExecuteTransform, MetadataEvent, UnknownEvent
from opendatafabric.metadata.transform import TransformInput
from opendatafabric.multihash import Multihash
from pipeline.commit import Position, position_at, position_of
from pipeline.transform.batches import Arrival, arrival_of, ends_of_step
from pipeline.transform.plan import (
    InputNews,
    TransformPlan,
    block_left,
    input_was_replaced,
    inputs_before,
    plan_transform,
)
from storage.dataset import Dataset
from storage.repositories import DatasetRepository

FindInput = Callable[[DatasetId], Awaitable[Dataset]]
"""Where the inputs of a derivative are; ``DatasetNotFound`` of those that are nowhere."""


def inputs_in(repository: DatasetRepository) -> FindInput:
    """Inputs that lie in ``repository``."""

    async def find(dataset_id: DatasetId) -> Dataset:
        return (await repository.find(dataset_id)).dataset

    return find


async def planned_step(
    position: Position,
    find: FindInput,
    *,
    as_of: Mapping[DatasetId, Multihash] | None = None,
    records_max: int | None = None,
) -> tuple[TransformPlan, list[Dataset]]:
    """The next step of the derivative at ``position``, and its inputs: as they are, or as of those blocks.

    With ``records_max`` it reads so many records at most, or one block that has more.

    Raises:
        DatasetNotFound: an input is not here.
        ChainsDiverged: the history of an input was replaced.
        UnsupportedOperation: as ``inputs_before``.
        UnsupportedVersion: an input has data of a newer version.
    """
    inputs = [(_id_of(each), block_left(before)) for each, before in inputs_before(position)]
    datasets = [await find(dataset_id) for dataset_id, _ in inputs]
    pinned = [None if as_of is None else as_of[dataset_id] for dataset_id, _ in inputs]
    news = await _news(datasets, inputs, pinned)
    ends = None if records_max is None else ends_of_step([each.arrivals for each in news], records_max)
    if ends is None:
        return plan_transform(position, news), datasets
    cut = plan_transform(position, await _news(datasets, inputs, ends))
    return replace(cut, is_cut=True), datasets


async def _news(
    datasets: Sequence[Dataset],
    inputs: Sequence[tuple[DatasetId, Multihash | None]],
    ends: Sequence[Multihash | None],
) -> list[InputNews]:
    each = zip(datasets, inputs, ends, strict=True)
    return [await read_news(dataset, dataset_id, since, until) for dataset, (dataset_id, since), until in each]


async def read_news(
    dataset: Dataset, dataset_id: DatasetId, since: Multihash | None, until: Multihash | None = None
) -> InputNews:
    """The blocks of data after ``since``, up to the head or ``until``; errors as ``planned_step``."""
    position = await position_of(dataset) if until is None else await position_at(dataset, until)
    if position.head == since:
        return InputNews(position)
    came: list[tuple[DataEvent, Arrival]] = []
    oldest: Multihash | None = None
    async for blocks in dataset.walk(position.head, stop_before=since):
        came += [(event, _arrived(block, event)) for block in blocks if (event := _data_of(block)) is not None]
        oldest = blocks[-1].block.prev_block_hash
    if since is not None and oldest != since:
        raise input_was_replaced(dataset_id, since)
    before = None if since is None or not came else await _watermark_at(dataset, since)
    came.reverse()
    return InputNews(position, tuple(event for event, _ in came), before, tuple(arrival for _, arrival in came))


def _arrived(block: HashedBlock, event: DataEvent) -> Arrival:
    return arrival_of(block, 0 if event.new_data is None else len(event.new_data.offset_interval))


async def _watermark_at(dataset: Dataset, head: Multihash) -> Instant | None:
    """What the nearest block of data says, from ``head`` backward."""
    async for blocks in dataset.walk(head):
        for event in map(_data_of, blocks):
            if event is not None:
                return event.new_watermark
    return None


def _id_of(given: TransformInput) -> DatasetId:
    assert isinstance(given.dataset_ref, DatasetId)  # a rule of the chain
    return given.dataset_ref


def _data_of(block: HashedBlock) -> DataEvent | None:
    event = block.event
    if isinstance(event, AddData | ExecuteTransform):
        return event
    if isinstance(event, UnknownEvent) and _is_data(event):
        raise UnsupportedVersion("an input has data of a newer version", hint="update this software")
    return None


def _is_data(event: UnknownEvent) -> bool:
    kinds = get_args(MetadataEvent)
    return 0 < event.type_id <= len(kinds) and kinds[event.type_id - 1] in (AddData, ExecuteTransform)
