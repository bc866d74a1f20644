"""Reads the steps of a derivative for those who want them as run events: what was in force is looked up in the index,
and of inputs it is told what the caller may see."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from catalog.dataset_facts import DatasetFacts
from catalog.facts_of_blocks import BlockFacts, columns_of
from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError
from opendatafabric.index_limits import INDEXED_ITEMS_MAX
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import (
    ExecuteTransform,
    ExecuteTransformInput,
    MetadataEvent,
    SetDataSchema,
    SetTransform,
    UnknownEvent,
)
from opendatafabric.multihash import Multihash
from pipeline.lineage.run_events import SeenDataset, Step
from storage.dataset import Dataset


@dataclass(frozen=True, slots=True)
class NamedDataset:
    """A dataset that may be read, and what it is called."""

    dataset_id: DatasetId
    dataset: Dataset
    alias: str
    owner: str | None


Event = MetadataEvent | UnknownEvent
FindDataset = Callable[[DatasetId], Awaitable[NamedDataset | None]]
"""A dataset that the caller may read, or ``None``."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Some, oldest first; ``after`` is the number of the last block if there are more."""

    steps: Sequence[Step]
    after: int | None


class StepReader:
    """Reads steps of datasets; what was in force is read once."""

    def __init__(self, index: DatasetFacts, find: FindDataset) -> None:
        self._index = index
        self._find = find
        self._found: dict[DatasetId, NamedDataset | None] = {}
        self._settings: dict[DatasetId, Sequence[BlockFacts]] = {}
        self._events: dict[Multihash, Event] = {}

    async def steps(self, output: NamedDataset, *, after: int, count: int) -> Steps:
        """``count`` steps after the block of number ``after``.

        Raises:
            BlockNotFound, HashMismatch, MalformedBlock: the chain is damaged.
        """
        names = [ExecuteTransform.__name__]
        rows = await self._index.blocks_with(output.dataset_id, names, after=after, count=count + 1)
        steps: list[Step] = []
        async for blocks in output.dataset.read_blocks([row.hash for row in rows[:count]]):
            steps += [await self._step(output, block, block.event) for block in blocks]
        return Steps(steps, rows[count - 1].sequence_number if len(rows) > count else None)

    async def _step(self, output: NamedDataset, block: HashedBlock, event: Event) -> Step:
        assert isinstance(event, ExecuteTransform)  # so says the index, which was made of these very bytes
        transform = await self._in_force(output, SetTransform.__name__, block.sequence_number)
        return Step(
            dataset_id=output.dataset_id,
            block=block,
            event=event,
            transform=transform if isinstance(transform, SetTransform) else None,
            output=await self._seen(output, block.sequence_number),
            inputs={each.dataset_id: await self._input(each) for each in event.query_inputs},
        )

    async def _input(self, given: ExecuteTransformInput) -> SeenDataset:
        dataset_id, read_up_to = given.dataset_id, given.new_block_hash or given.prev_block_hash
        if dataset_id not in self._found:
            self._found[dataset_id] = await self._find(dataset_id)
        known = self._found[dataset_id]
        if known is None:
            return SeenDataset()
        try:
            number = -1 if read_up_to is None else (await known.dataset.read_block(read_up_to)).sequence_number
            return await self._seen(known, number)
        except OdfError:  # that a step read it is told also where it is damaged, or has another chain now
            return SeenDataset(known.alias, known.owner)

    async def _seen(self, dataset: NamedDataset, number: int) -> SeenDataset:
        schema = await self._in_force(dataset, SetDataSchema.__name__, number)
        columns = columns_of(schema) if isinstance(schema, SetDataSchema) else ()
        return SeenDataset(dataset.alias, dataset.owner, [(each.name, each.type.rstrip("?")) for each in columns])

    async def _in_force(self, dataset: NamedDataset, name: str, number: int) -> Event | None:
        """The last event of that name up to the block of that number."""
        before = [
            each.hash
            for each in await self._settings_of(dataset.dataset_id)
            if each.event == name and each.sequence_number <= number
        ]
        if not before:
            return None
        if before[-1] not in self._events:
            self._events[before[-1]] = (await dataset.dataset.read_block(before[-1])).event
        return self._events[before[-1]]

    async def _settings_of(self, dataset_id: DatasetId) -> Sequence[BlockFacts]:
        if dataset_id not in self._settings:
            names = [SetTransform.__name__, SetDataSchema.__name__]
            found = await self._index.blocks_with(dataset_id, names, after=-1, count=INDEXED_ITEMS_MAX)
            self._settings[dataset_id] = found
        return self._settings[dataset_id]
