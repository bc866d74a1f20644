"""Derivatives that do not follow from their inputs, and engines that fail, to be verified."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.codec.block_codec import encode_block
from opendatafabric.data.logical_hash import logical_hash_parquet
from opendatafabric.did import DatasetId
from opendatafabric.errors import EngineDied
from opendatafabric.layout import block_key, data_key
from opendatafabric.metadata.events import ExecuteTransform
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from tests.pipeline.datasets import blocks_of
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop, query_over
from verify.replay import Replay
from verify.report import Report, Verdict
from verify.verification import verify_dataset

LARGE = "select event_time, city, population from cities where population > 10"
Change = Callable[[pa.Table], pa.Table]
EventChange = Callable[[ExecuteTransform], ExecuteTransform]


async def large_cities(workshop: Workshop) -> Workshop:
    """Cities of two days, and the large ones among them in two steps."""
    await workshop.add_cities()
    await workshop.add("large", query_over(LARGE, "cities"))
    await workshop.push("cities", on=2, lviv=5, kyiv=30, odesa=20)
    await workshop.step("large", on=3)
    await workshop.push("cities", on=4, dnipro=15, poltava=3, kharkiv=40)
    await workshop.step("large", on=5)
    return workshop


async def verified(
    workshop: Workshop, name: str = "large", *, verdicts: dict[DatasetId, Verdict] | None = None, **options: Any
) -> Report:
    """The report on a dataset of the workshop."""
    options = {"find": workshop.find, "engine": workshop.engine, **options}
    return await verify_dataset(workshop.datasets[name], Replay(**options, verdicts=verdicts or {}))


async def rewrite(dataset: Dataset, step: int, change: EventChange) -> Dataset:
    """The same chain with another step of that number (the last is -1), every hash after it made anew."""
    blocks = await blocks_of(dataset)
    steps = [block for block in blocks if isinstance(block.event, ExecuteTransform)]
    assert isinstance(dataset.objects, MemoryObjectStore)
    refs, previous = MemoryRefStore(), None
    for block in blocks:
        event = change(steps[step].event) if block is steps[step] else block.event  # type: ignore[arg-type]
        made = encode_block(replace(block.block, prev_block_hash=previous, event=event))
        dataset.objects.objects[block_key(made.hash)] = made.raw
        previous = made.hash
    assert previous is not None
    refs.heads["head"] = previous
    return Dataset(dataset.objects, refs)


async def falsify(workshop: Workshop, change: Change, step: int = 0, name: str = "large") -> None:
    """Other records in the slice of a step, hashed as honestly as the first ones."""
    dataset = workshop.datasets[name]

    def other_slice(event: ExecuteTransform) -> ExecuteTransform:
        assert event.new_data is not None
        assert isinstance(dataset.objects, MemoryObjectStore)
        raw = dataset.objects.objects[data_key(event.new_data.physical_hash)]
        sink = pa.BufferOutputStream()
        pq.write_table(change(pq.read_table(pa.BufferReader(raw))), sink)
        data = stored_slice(dataset.objects, sink.getvalue().to_pybytes(), event.new_data.offset_interval.start)
        return replace(event, new_data=data)

    workshop.datasets[name] = await rewrite(dataset, step, other_slice)


def stored_slice(objects: MemoryObjectStore, raw: bytes, start: int) -> DataSlice:
    """A Parquet file as a slice."""
    objects.objects[data_key(physical_hash(raw))] = raw
    rows = pq.read_metadata(pa.BufferReader(raw)).num_rows
    return DataSlice(
        logical_hash_parquet(pa.BufferReader(raw)),
        physical_hash(raw),
        OffsetInterval(start, start + rows - 1),
        len(raw),
    )


def with_value(column: str, row: int, value: object) -> Change:
    """Another value in one place."""

    def change(records: pa.Table) -> pa.Table:
        index, values = records.column_names.index(column), records.column(column).to_pylist()
        values[row] = value
        return records.set_column(
            index, records.schema.field(index), pa.array(values, records.schema.field(index).type)
        )

    return change


class NeverEnding(LocalEngine):
    """Takes a job and never answers."""

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}


class Dying(LocalEngine):
    """Ends in the middle."""

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise EngineDied("the worker ended")


def workshop_in(folder: Path) -> Workshop:
    """Empty, without Spark."""
    (folder / "files").mkdir()
    return Workshop(LocalEngine(folder / "engine"), folder / "files")
