"""Ingests in a child that is killed at its k-th call of the system, for every k: a process of its own, as ``killer``.

Each is a chore that may be repeated: a poll of snapshots, for the source state says that it was there, and a push with
an idempotency key. Whenever it is cut, the head is the old or the new one; done again there is one block more, its
offsets right behind those before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from catalog.catalog import open_catalog
from catalog.ingest_plans import IngestKey
from catalog.sqlite_files import sqlite_url
from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.codec.block_codec import decode_block, encode_block
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import AccountId
from opendatafabric.metadata.events import AddData, DatasetKind, MetadataEvent, SetPollingSource
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.metadata.sources import FetchStepUrl, MergeStrategySnapshot, ReadStepCsv
from pipeline import ingest_job, worker_place
from pipeline.commit import Outcome
from pipeline.fetch import FetchOptions
from pipeline.ingest import Given, ingest
from pipeline.poll import poll
from pipeline.projection import kept
from pipeline.push_sources import push_source
from repo_server.ingesting import Ingests, WantedIngest
from tests.faults import deeds
from tests.faults.chores import DATASET, Chore, check_one_more, damage_in, dataset_in
from tests.faults.faulty_os import CHANGING
from tests.faults.killer import main
from tests.pipeline.datasets import CITIES, blocks_of, csv_source, day
from tests.pipeline.local_engine import LocalEngine
from tests.storage.chains import dataset_id

LOADED = (ingest_job,)
"""What the children need anyway."""

OLD, NEW = "city,population\nkyiv,3\nlviv,1\n", "city,population\nkyiv,4\nlviv,1\n"
KEY = IngestKey(dataset_id(), AccountId.from_text(str(dataset_id())), "one")
Run = Callable[[Path], Awaitable[None]]


def engine_in(root: Path) -> LocalEngine:
    return LocalEngine(root / "engine")


def source_file(root: Path) -> Path:
    """The same for all copies: its address is in the chain."""
    return root.parent / "cities.csv"


def preparing(source: Callable[[Path], MetadataEvent], run: Run) -> Run:
    """A dataset in which the old file is already."""

    async def prepare(root: Path) -> None:
        (root / DATASET).mkdir(parents=True)
        snapshot = DatasetSnapshot(DatasetAlias.from_text("cities"), DatasetKind.ROOT, (source(root),))
        blocks = blocks_from_snapshot(
            snapshot, dataset_id=dataset_id(), system_time=day(1), resolve_input=lambda _: None
        )
        await dataset_in(root / DATASET).append(blocks, expected_head=None)
        source_file(root).write_text(OLD)
        await run(root)
        source_file(root).write_text(NEW)

    return prepare


async def poll_once(root: Path) -> None:
    async for _ in poll(dataset_in(root / DATASET), engine_in(root), clock=lambda: day(2), options=FetchOptions()):
        pass


async def push_with_key(root: Path) -> None:
    async def ignore(_: Outcome) -> None:
        pass

    async with open_catalog(sqlite_url(root / "catalog.sqlite")) as catalog:
        ingests = Ingests(engine_in(root), catalog.ingest_plans, at_once=1, now=time.time)
        await ingests.run(
            WantedIngest(
                dataset_id=dataset_id(),
                dataset=dataset_in(root / DATASET),
                given=Given(source_file(root), event_time=day(1)),
                choose=lambda position: push_source(position.state, None),
                on_head_moved=ignore,
                key=KEY,
            )
        )


async def push_without_key(root: Path) -> None:
    await ingest(
        dataset_in(root / DATASET),
        engine_in(root),
        Given(source_file(root), event_time=day(1)),
        choose=lambda position: push_source(position.state, None),
        system_time=day(2),
    )
    async with open_catalog(sqlite_url(root / "catalog.sqlite")):
        pass


async def check_done(root: Path) -> None:
    """One block more, with the next offsets; blocks are what they encode to."""
    old = await blocks_of(dataset_in(root.parent / "before" / DATASET))
    now = await blocks_of(dataset_in(root / DATASET))
    assert await damage_in(dataset_in(root / DATASET)) == []
    assert len(now) == len(old) + 1
    assert all(encode_block(decode_block(block.raw).block) == block for block in now)
    added, before = now[-1].event, old[-1].event
    assert isinstance(added, AddData)
    assert isinstance(before, AddData)
    assert added.new_data is not None
    assert before.new_data is not None
    assert added.prev_offset == before.new_data.offset_interval.end == added.new_data.offset_interval.start - 1
    assert deeds.state(root / DATASET)["refs/head"] == str(now[-1].hash).encode()


def polled(root: Path) -> SetPollingSource:
    read = ReadStepCsv(schema=CITIES, header=True)
    fetch, merge = FetchStepUrl(source_file(root).as_uri()), MergeStrategySnapshot(("city",))
    return SetPollingSource(fetch, None, read, None, merge)


INGESTS = (
    Chore("poll", preparing(polled, poll_once), poll_once, check_one_more, check_done),
    Chore("push", preparing(lambda _: csv_source(), push_without_key), push_with_key, check_one_more, check_done),
)

if __name__ == "__main__":
    chosen = next(each for each in INGESTS if each.name == sys.argv[2])
    sys.exit(main(Path(sys.argv[1]), chosen, CHANGING, (worker_place, kept)))
