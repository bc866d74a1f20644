"""Forges derivatives: other records, other events, and every hash, offset and link above them made anew.

What comes out is a sound chain with whole objects: nothing but repeating its steps can tell that it is false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.chain.rules.add_data import checkpoint_hash
from opendatafabric.codec.block_codec import encode_block
from opendatafabric.data.logical_hash import logical_hash_parquet
from opendatafabric.layout import block_key, checkpoint_key, data_key
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import ExecuteTransform, MetadataEvent
from opendatafabric.metadata.slices import Checkpoint, DataSlice, OffsetInterval
from opendatafabric.multihash import Multihash, physical_hash
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from tests.pipeline.datasets import blocks_of

RecordsChange = Callable[[pa.Table], pa.Table]
EventChange = Callable[[Any], MetadataEvent]


def unchanged(event: Any) -> Any:
    """The event as it is."""
    return event


@dataclass
class Forge:
    """What is to be false: records and events of ``steps`` by their number (the last is -1), other events by kind."""

    records: Mapping[int, RecordsChange] = field(default_factory=dict)
    steps: Mapping[int, EventChange] = field(default_factory=dict)
    events: Mapping[type[MetadataEvent], EventChange] = field(default_factory=dict)

    async def forged(self, dataset: Dataset) -> Dataset:
        """The same dataset with that changed; its objects get more, its refs stay as they were."""
        assert isinstance(dataset.objects, MemoryObjectStore)
        chain, blocks = _Chain(dataset.objects), await blocks_of(dataset)
        left = sum(isinstance(block.event, ExecuteTransform) for block in blocks)
        count = left
        for block in blocks:
            event: MetadataEvent = block.event  # type: ignore[assignment]
            if isinstance(event, ExecuteTransform):
                event = self._step(chain, event, {count - left, -left})
                left -= 1
            else:
                event = self.events.get(type(event), unchanged)(event)
            chain.add(block, event)
        return chain.dataset()

    def _step(self, chain: _Chain, event: ExecuteTransform, numbers: set[int]) -> MetadataEvent:
        records = next((self.records[each] for each in numbers if each in self.records), unchanged)
        change = next((self.steps[each] for each in numbers if each in self.steps), unchanged)
        return change(chain.continued(event, records))


@dataclass
class _Chain:
    objects: MemoryObjectStore
    head: Multihash | None = None
    last: ExecuteTransform | None = None
    next_offset: int = 0

    def continued(self, event: ExecuteTransform, change: RecordsChange) -> ExecuteTransform:
        """The step behind the last one, its records counted on from there."""
        left = None if self.last is None else checkpoint_hash(self.last.new_checkpoint)
        prev_offset = self.next_offset - 1 if self.next_offset else None
        return replace(
            event, prev_checkpoint=left, prev_offset=prev_offset, new_data=self._records(event.new_data, change)
        )

    def _records(self, data: DataSlice | None, change: RecordsChange) -> DataSlice | None:
        if data is None or (change is unchanged and data.offset_interval.start == self.next_offset):
            return data
        raw = self.objects.objects[data_key(data.physical_hash)]
        records = change(pq.read_table(pa.BufferReader(raw)))
        return stored_slice(self.objects, _counted_from(records, self.next_offset), self.next_offset)

    def add(self, block: HashedBlock, event: MetadataEvent) -> None:
        """The block with that event on top."""
        made = encode_block(replace(block.block, prev_block_hash=self.head, event=event))
        self.objects.objects[block_key(made.hash)] = made.raw
        self.head = made.hash
        if isinstance(event, ExecuteTransform):
            self.last = event
            if event.new_data is not None:
                self.next_offset = event.new_data.offset_interval.end + 1

    def dataset(self) -> Dataset:
        """Of what was added."""
        refs = MemoryRefStore()
        assert self.head is not None
        refs.heads["head"] = self.head
        return Dataset(self.objects, refs)


def stored_slice(objects: MemoryObjectStore, records: pa.Table, start: int) -> DataSlice:
    """The records as a slice that is in the store."""
    sink = pa.BufferOutputStream()
    pq.write_table(records, sink)
    raw = sink.getvalue().to_pybytes()
    objects.objects[data_key(physical_hash(raw))] = raw
    interval = OffsetInterval(start, start + len(records) - 1)
    return DataSlice(logical_hash_parquet(pa.BufferReader(raw)), physical_hash(raw), interval, len(raw))


def stored_checkpoint(objects: MemoryObjectStore, raw: bytes) -> Checkpoint:
    """The bytes as a checkpoint that is in the store."""
    objects.objects[checkpoint_key(physical_hash(raw))] = raw
    return Checkpoint(physical_hash(raw), len(raw))


def _counted_from(records: pa.Table, start: int) -> pa.Table:
    return with_column(records, "offset", list(range(start, start + len(records))))


def with_column(records: pa.Table, name: str, values: list[Any]) -> pa.Table:
    """Other values in one column."""
    index = records.column_names.index(name)
    of = records.schema.field(index)
    return records.set_column(index, of, pa.array(values, of.type))


def with_value(column: str, row: int, value: object) -> RecordsChange:
    """Another value in one place."""

    def change(records: pa.Table) -> pa.Table:
        values = records.column(column).to_pylist()
        values[row] = value
        return with_column(records, column, values)

    return change


def reordered(records: pa.Table) -> pa.Table:
    """The first two rows in each other's place; offsets are counted anew."""
    return records.take([1, 0, *range(2, len(records))])


def without_row(row: int) -> RecordsChange:
    """One row less."""
    return lambda records: pa.concat_tables([records.slice(0, row), records.slice(row + 1)])
