"""Small root datasets in memory, for tests that ingest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import new_dataset_id
from opendatafabric.instant import Instant
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import AddPushSource, DatasetKind, MetadataEvent
from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.metadata.sources import MergeStrategy, MergeStrategyAppend, ReadStepCsv
from pipeline.commit import Outcome
from pipeline.ingest import Engine, Given, ingest
from pipeline.push_sources import push_source
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore

CITIES = ("city STRING", "population BIGINT")


def day(number: int) -> Instant:
    """Midnight of that day of January 2024."""
    return Instant.from_rfc3339(f"2024-01-{number:02}T00:00:00Z")


def csv_source(merge: MergeStrategy | None = None, name: str = "default") -> AddPushSource:
    """Cities and their population as CSV with a header."""
    return AddPushSource(name, ReadStepCsv(schema=CITIES, header=True), None, merge or MergeStrategyAppend())


async def new_dataset(*events: MetadataEvent, objects: Any = None, refs: Any = None) -> Dataset:
    """A root dataset with those events, of the first of January."""
    dataset = Dataset(objects or MemoryObjectStore(), refs or MemoryRefStore())
    snapshot = DatasetSnapshot(DatasetAlias.from_text("cities"), DatasetKind.ROOT, events)
    blocks = blocks_from_snapshot(
        snapshot, dataset_id=new_dataset_id(bytes(32)), system_time=day(1), resolve_input=lambda _: None
    )
    await dataset.append(blocks, expected_head=None)
    return dataset


async def push(
    dataset: Dataset, engine: Engine, file: Path, *, on: int, state: SourceState | None = None, name: str | None = None
) -> Outcome:
    """Ingest a file on that day."""
    return await ingest(
        dataset,
        engine,
        Given(file, state=state),
        choose=lambda position: push_source(position.state, name),
        system_time=day(on),
    )


def cities(folder: Path, **populations: int) -> Path:
    """A CSV file of cities."""
    file = folder / f"cities-{len(list(folder.iterdir()))}.csv"
    file.write_text("city,population\n" + "".join(f"{name},{number}\n" for name, number in populations.items()))
    return file


async def blocks_of(dataset: Dataset) -> list[HashedBlock]:
    """Oldest first."""
    head = await dataset.head()
    assert head is not None
    return [block async for batch in dataset.walk(head) for block in batch][::-1]
