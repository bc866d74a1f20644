"""Small derivatives in memory, over roots that are pushed into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.codec.block_codec import encode_block
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.errors import DatasetNotFound
from opendatafabric.layout import data_key
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.events import AddData, DatasetKind, ExecuteTransform, MetadataEvent, SetTransform
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from pipeline.commit import Outcome
from pipeline.ingest import Engine
from pipeline.transform.run import transform
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from tests.pipeline.datasets import blocks_of, cities, csv_source, day, push
from tests.pipeline.local_engine import LocalEngine

LARGE = "select event_time, city, population from cities where population > 10"


def id_of(name: str) -> DatasetId:
    """The id of the dataset of that name."""
    return new_dataset_id(name.encode().ljust(32, b"."))


def query_over(query: str, *inputs: str, engine: str = "datafusion") -> SetTransform:
    """A transform of one step over datasets of those names, which are also what the query calls them."""
    steps = (SqlQueryStep(query=query),)
    return SetTransform(
        tuple(TransformInput(id_of(each), each) for each in inputs), TransformSql(engine, queries=steps)
    )


@dataclass
class Workshop:
    """Datasets by name, an engine for them, and a folder for files."""

    engine: Engine
    folder: Path
    datasets: dict[str, Dataset] = field(default_factory=dict)

    async def add(self, name: str, *events: MetadataEvent) -> Dataset:
        """A derivative if it has a transform, else a root."""
        is_derived = any(isinstance(event, SetTransform) for event in events)
        kind = DatasetKind.DERIVATIVE if is_derived else DatasetKind.ROOT
        blocks = blocks_from_snapshot(
            DatasetSnapshot(DatasetAlias.from_text(name), kind, events),
            dataset_id=id_of(name),
            system_time=day(1),
            resolve_input=lambda ref: ref if isinstance(ref, DatasetId) else None,
        )
        self.datasets[name] = Dataset(MemoryObjectStore(), MemoryRefStore())
        await self.datasets[name].append(blocks, expected_head=None)
        return self.datasets[name]

    async def add_cities(self, name: str = "cities") -> Dataset:
        """A root of cities and their population."""
        return await self.add(name, csv_source())

    async def push(self, name: str, *, on: int, **populations: int) -> Outcome:
        """Cities into a root."""
        return await push(self.datasets[name], self.engine, cities(self.folder, **populations), on=on)

    async def find(self, dataset_id: DatasetId) -> Dataset:
        """An input."""
        for name, dataset in self.datasets.items():
            if id_of(name) == dataset_id:
                return dataset
        raise DatasetNotFound(f"there is no {dataset_id}")

    async def step(self, name: str, *, on: int) -> Outcome | None:
        """Bring a derivative up to date."""
        return await transform(self.datasets[name], self.find, self.engine, system_time=day(on))

    async def set(self, name: str, event: MetadataEvent, *, on: int) -> None:
        """Another event on the chain."""
        dataset = self.datasets[name]
        last = (await blocks_of(dataset))[-1]
        block = encode_block(MetadataBlock(day(on), last.hash, last.block.sequence_number + 1, event))
        await dataset.append([block], expected_head=last.hash)

    async def steps(self, name: str) -> list[ExecuteTransform]:
        """The steps that a derivative has made."""
        events = [block.event for block in await blocks_of(self.datasets[name])]
        return [event for event in events if isinstance(event, ExecuteTransform)]

    async def rows(self, name: str, *columns: str) -> list[Mapping[str, Any]]:
        """Those columns of all records, in the order of the offsets."""
        tables = []
        for block in await blocks_of(self.datasets[name]):
            data = block.event.new_data if isinstance(block.event, AddData | ExecuteTransform) else None
            if data is not None:
                raw = await self.datasets[name].objects.read(data_key(data.physical_hash), size_max=2**20)
                tables.append(pq.read_table(pa.BufferReader(raw)))
        found: list[Mapping[str, Any]] = (
            pa.concat_tables(tables, promote_options="default").select(list(columns)).to_pylist()
        )
        return found


async def shop_of_cities(folder: Path) -> Workshop:
    """Cities in a local engine's files below ``folder``, and the large ones among them."""
    (folder / "files").mkdir()
    shop = Workshop(LocalEngine(folder / "engine"), folder / "files")
    await shop.add_cities()
    await shop.push("cities", on=2, lviv=5, kyiv=30, odesa=20)
    await shop.add("large", query_over(LARGE, "cities"))
    return shop
