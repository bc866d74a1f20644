"""A step of a derivative in a child that is killed at its k-th call of the system, for every k; as ``ingest_killer``.

Whenever it is cut, the head is the old or the new one; done again there is one block more, its rows right behind those
before: none is missing, none comes twice.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.codec.block_codec import decode_block, encode_block
from opendatafabric.did import DatasetId
from opendatafabric.layout import data_key
from opendatafabric.metadata.events import DatasetKind, ExecuteTransform
from pipeline import ingest_job, known_chains, worker_place
from pipeline.projection import kept
from pipeline.transform import in_datafusion, job
from pipeline.transform.run import transform
from storage.dataset import Dataset
from tests.faults.chores import DATASET, Chore, check_one_more, damage_in, dataset_in
from tests.faults.derive_killer import INPUT, add
from tests.faults.faulty_os import CHANGING
from tests.faults.ingest_killer import engine_in
from tests.faults.killer import main
from tests.pipeline.datasets import blocks_of, cities, day, push

LOADED = (in_datafusion, ingest_job, job)
"""What the children need anyway."""

ROWS = list(enumerate(["kyiv", "lviv", "odesa", "dnipro", "bucha", "poltava"]))


async def find_in(root: Path, _: DatasetId) -> Dataset:
    """The one input."""
    return dataset_in(root / INPUT)


async def step(root: Path, on: int = 6) -> None:
    """Bring the derivative up to date."""
    await transform(dataset_in(root / DATASET), lambda each: find_in(root, each), engine_in(root), system_time=day(on))


async def prepare(root: Path) -> None:
    """A derivative that has made one step, and an input with two blocks more."""
    (root / "files").mkdir(parents=True)
    await add(root, INPUT, DatasetKind.ROOT)
    await add(root, DATASET, DatasetKind.DERIVATIVE)
    await grow(root, 2, kyiv=30, lviv=5)
    await step(root, on=3)
    await grow(root, 4, odesa=20, dnipro=15)
    await grow(root, 5, bucha=1, poltava=40)


async def grow(root: Path, on: int, **populations: int) -> None:
    """More cities."""
    file = cities(root / "files", **populations)
    await push(dataset_in(root / INPUT), engine_in(root), file, on=on)


async def rows_of(dataset: Dataset) -> list[tuple[int, str]]:
    """Offsets and cities of all records."""
    found: list[tuple[int, str]] = []
    for event in [block.event for block in await blocks_of(dataset)]:
        if isinstance(event, ExecuteTransform) and event.new_data is not None:
            raw = await dataset.objects.read(data_key(event.new_data.physical_hash), size_max=2**20)
            records: Any = pq.read_table(pa.BufferReader(raw)).to_pylist()
            found += [(row["offset"], row["city"]) for row in records]
    return found


async def check_done(root: Path) -> None:
    """One block more, whole, with the rows of the two new blocks of the input; the next step has nothing to do."""
    dataset = dataset_in(root / DATASET)
    before, now = [await blocks_of(dataset_in(folder / DATASET)) for folder in (root.parent / "before", root)]
    assert await damage_in(dataset) == []
    assert len(now) == len(before) + 1
    assert all(encode_block(decode_block(block.raw).block) == block for block in now)
    assert await rows_of(dataset) == ROWS
    await step(root, on=7)
    assert await blocks_of(dataset) == now


STEP = Chore("step", prepare, step, check_one_more, check_done)

if __name__ == "__main__":
    vars(known_chains)["_WORTH_NOTING_BLOCKS"] = 1
    sys.exit(main(Path(sys.argv[1]), STEP, CHANGING, (worker_place, kept)))
