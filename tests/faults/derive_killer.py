"""Steps of a derivative in a child that is killed at its k-th call of the system, for every k, as ``ingest_killer``.

The step leaves a slice and a checkpoint. Whenever it is cut, both are there with the block that names them, or neither
counts; done again there is one block more that goes on from the checkpoint before.
"""

from __future__ import annotations

import sys
from pathlib import Path

from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.metadata.events import DatasetKind, ExecuteTransform
from opendatafabric.metadata.snapshot import DatasetSnapshot
from pipeline import worker_place
from pipeline.projection import kept
from pipeline.transform import job
from pipeline.transform.run import transform
from storage.dataset import Dataset
from tests.faults.chores import DATASET, Chore, check_one_more, damage_in, dataset_in
from tests.faults.faulty_os import CHANGING
from tests.faults.killer import main
from tests.pipeline.datasets import blocks_of, cities, csv_source, day, push
from tests.pipeline.transform.derived import id_of, query_over
from tests.pipeline.transform.keeping import KeepingEngine

LOADED = (job,)
"""What the children need anyway."""

INPUT = "cities"


async def add(root: Path, name: str, kind: DatasetKind) -> None:
    (root / name).mkdir(parents=True)
    event = csv_source() if kind is DatasetKind.ROOT else query_over("select event_time, city from cities", INPUT)
    blocks = blocks_from_snapshot(
        DatasetSnapshot(DatasetAlias.from_text(name), kind, (event,)),
        dataset_id=id_of(name),
        system_time=day(1),
        resolve_input=lambda ref: ref if isinstance(ref, DatasetId) else None,
    )
    await dataset_in(root / name).append(blocks, expected_head=None)


async def prepare(root: Path) -> None:
    """A derivative that is one step behind, and has a checkpoint."""
    await add(root, INPUT, DatasetKind.ROOT)
    await add(root, DATASET, DatasetKind.DERIVATIVE)
    files = root.parent / "files"
    files.mkdir(exist_ok=True)
    for number, name in enumerate(["kyiv", "lviv"], start=2):
        await push(dataset_in(root / INPUT), KeepingEngine(root / "engine"), cities(files, **{name: 1}), on=number)
        if number == 2:
            await derive(root)


async def derive(root: Path) -> None:
    async def find(_: DatasetId) -> Dataset:
        return dataset_in(root / INPUT)

    await transform(dataset_in(root / DATASET), find, KeepingEngine(root / "engine"), system_time=day(5))


async def check_done(root: Path) -> None:
    """Two steps, the second one from the checkpoint of the first."""
    assert await damage_in(dataset_in(root / DATASET)) == []
    events = [block.event for block in await blocks_of(dataset_in(root / DATASET))]
    first, second = [event for event in events if isinstance(event, ExecuteTransform)]
    assert first.new_checkpoint is not None
    assert second.prev_checkpoint == first.new_checkpoint.physical_hash
    assert second.new_checkpoint not in (None, first.new_checkpoint)
    assert second.new_data is not None


DERIVES = Chore("derive", prepare, derive, check_one_more, check_done)

if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), DERIVES, CHANGING, (worker_place, kept)))
