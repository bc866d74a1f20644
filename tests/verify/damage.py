"""Datasets to be damaged: the golden ones in memory or in a folder, and small ones made to measure."""

from __future__ import annotations

import io
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.chain.state import ChainState
from opendatafabric.codec.block_codec import encode_block
from opendatafabric.data.logical_hash import logical_hash_parquet
from opendatafabric.instant import Instant
from opendatafabric.layout import block_key, checkpoint_key, data_key
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.data_schema import (
    DataField,
    DataSchema,
    DataTypeInt32,
    DataTypeInt64,
    DataTypeOption,
    DataTypeString,
    DataTypeTimestamp,
    TimeUnit,
)
from opendatafabric.metadata.events import AddData, DatasetKind, MetadataEvent, Seed, SetDataSchema
from opendatafabric.metadata.slices import Checkpoint, DataSlice, OffsetInterval
from opendatafabric.multihash import Multihash, physical_hash
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.memory import MemoryObjectStore, MemoryRefStore
from tests.opendatafabric.chain.chain_samples import dataset_id

VECTORS = Path(__file__).parents[1] / "vectors"
DATASETS = sorted(folder.parent for folder in VECTORS.glob("datasets*/*/blocks"))
CHAIN_FOLDERS = ("refs", "blocks", "data", "checkpoints")
_MS = DataTypeTimestamp(TimeUnit.MILLISECOND, "UTC")
SCHEMA = SetDataSchema(
    schema=DataSchema(
        (
            DataField("offset", DataTypeInt64()),
            DataField("op", DataTypeInt32()),
            DataField("system_time", _MS),
            DataField("event_time", _MS),
            DataField("city", DataTypeOption(DataTypeString())),
        )
    )
)


def folder_id(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def files_of(folder: Path) -> list[str]:
    """Keys of everything in a dataset that a peer can see."""
    found = [path for name in CHAIN_FOLDERS for path in sorted((folder / name).glob("*"))]
    return [str(path.relative_to(folder)) for path in found]


def in_folder(folder: Path) -> Dataset:
    return Dataset(LocalObjectStore(folder), LocalRefStore(folder))


def in_memory(folder: Path) -> tuple[Dataset, MemoryObjectStore]:
    """A copy of the dataset in ``folder``, and its store to damage."""
    objects, refs = MemoryObjectStore(), MemoryRefStore()
    for key in files_of(folder):
        if not key.startswith("refs/"):
            objects.objects[key] = (folder / key).read_bytes()
    refs.heads["head"] = Multihash.from_text((folder / "refs" / "head").read_text())
    return Dataset(objects, refs), objects


def copied(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to / folder.name))


def moment(second: int) -> Instant:
    return Instant(2024, 1, second)


def records(
    start: int, cities: Sequence[str | None], *, seconds: Sequence[int] | None = None, **columns: Any
) -> pa.Table:
    """A table as a slice of ``SCHEMA`` holds it; ``columns`` replace whole columns."""
    count = len(cities)
    times = [datetime(2024, 1, 1, 0, 0, second, tzinfo=UTC) for second in (seconds or range(count))]
    stamp = pa.timestamp("ms", "UTC")
    made = {
        "offset": pa.array(range(start, start + count), pa.int64()),
        "op": pa.array([0] * count, pa.int32()),
        "system_time": pa.array([datetime(2024, 1, 1, 0, 0, 10, tzinfo=UTC)] * count, stamp),
        "event_time": pa.array(times, stamp),
        "city": pa.array(cities, pa.string()),
    }
    return pa.table({**made, **columns})


def parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def slice_of(data: bytes, interval: OffsetInterval) -> DataSlice:
    return DataSlice(logical_hash_parquet(io.BytesIO(data)), physical_hash(data), interval, len(data))


@dataclass
class Made:
    """A dataset in memory that grows by ``add``; nothing is validated, so that it can be wrong in one place only."""

    dataset: Dataset
    objects: MemoryObjectStore
    refs: MemoryRefStore
    state: ChainState

    @classmethod
    def root(cls) -> Made:
        objects, refs = MemoryObjectStore(), MemoryRefStore()
        made = cls(Dataset(objects, refs), objects, refs, ChainState.empty())
        made.add(Seed(dataset_id(9), DatasetKind.ROOT))
        return made

    def add(self, event: MetadataEvent, **fields: Any) -> HashedBlock:
        block = MetadataBlock(moment(10), self.state.head, self.state.sequence_number + 1, event)
        hashed = encode_block(replace(block, **fields))
        self.objects.objects[block_key(hashed.hash)] = hashed.raw
        self.refs.heads["head"] = hashed.hash
        self.state = self.state.apply(hashed)
        return hashed

    def add_data(self, table: pa.Table, interval: OffsetInterval, *, raw: bytes | None = None, **changes: Any) -> str:
        """Append ``table`` as a slice; ``changes`` are to the DataSlice. Returns the key of the object."""
        data = parquet(table) if raw is None else raw
        new_data = replace(slice_of(parquet(table), interval), physical_hash=physical_hash(data), size=len(data))
        latest = table.column("event_time").to_pylist()
        watermark = Instant.from_datetime(max(latest))
        before = self.state.watermark
        event = AddData(
            prev_offset=self.state.last_offset,
            new_data=replace(new_data, **changes),
            new_watermark=watermark if before is None else max(before, watermark),
        )
        return self.put_data(event, data)

    def put_data(self, event: AddData, data: bytes) -> str:
        assert event.new_data is not None
        key = data_key(event.new_data.physical_hash)
        self.objects.objects[key] = data
        self.add(event)
        return key

    def add_checkpoint(self, data: bytes) -> str:
        key = checkpoint_key(physical_hash(data))
        self.objects.objects[key] = data
        event = AddData(
            prev_offset=self.state.last_offset,
            new_checkpoint=Checkpoint(physical_hash(data), len(data)),
            new_watermark=self.state.watermark,
        )
        self.add(event)
        return key


def small_dataset() -> Made:
    """Seed, schema and two slices of three records each, valid."""
    made = Made.root()
    made.add(SCHEMA)
    made.add_data(records(0, ["a", None, "c"]), OffsetInterval(0, 2))
    made.add_data(records(3, ["d", "e", "f"], seconds=[3, 4, 5]), OffsetInterval(3, 5))
    return made
