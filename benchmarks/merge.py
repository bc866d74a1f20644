"""What does it cost to compare an input with what a dataset has?

Asked for a ledger next to an append of the same million rows, over a history of a million; for a snapshot of a million
rows of which one in a hundred changed, next to the same join written by hand in Spark; and for one row, over short and
long histories. Everything from the file of the source to the moved head is measured, with an engine in this process.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from benchmarks.harness import Goal, Question, Way, cpu_seconds, main
from benchmarks.plain_spark import plain_spark
from benchmarks.processes import scratch
from opendatafabric.block_ref import HEAD
from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import new_dataset_id
from opendatafabric.errors import EngineUnavailable
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import AddPushSource, DatasetKind
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.metadata.sources import (
    MergeStrategy,
    MergeStrategyAppend,
    MergeStrategyLedger,
    MergeStrategySnapshot,
    MergeStrategyUpsertStream,
    ReadStepCsv,
)
from pipeline.ingest import Given, ingest
from pipeline.jobs import JOBS, JobContext, load_job
from pipeline.push_sources import push_source
from pipeline.worker_client import WorkerClient
from pipeline.worker_place import JobFolders, WorkerPlace
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore

COLUMNS = ("event_time TIMESTAMP", "id BIGINT", "a DOUBLE", "b DOUBLE", "city STRING")
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
KEY = ("event_time", "city")
NUMBERS = itertools.count()


class Engine:
    """Runs jobs in this process. None of them asks for Spark."""

    def __init__(self, folder: Path) -> None:
        self.place = WorkerPlace(folder)
        self._context = JobContext(self._no_spark, lambda _: None, sandboxed=False)

    def folders(self) -> AbstractContextManager[JobFolders]:
        return self.place.job_folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await asyncio.to_thread(load_job(JOBS, job), self._context, arguments)

    def _no_spark(self) -> Any:
        raise EngineUnavailable("this benchmark runs without Spark")


class Root:
    """A root dataset in a folder; ``mark`` it, and it is put back there after each ``measured`` ingest."""

    def __init__(self, merge: MergeStrategy, engine: WorkerClient | None = None) -> None:
        self.folder = scratch("merge")
        (self.folder / "dataset").mkdir()
        self._engine = engine or Engine(self.folder / "place")
        self._projections = self.folder / "place" / "projections"
        source = AddPushSource("default", ReadStepCsv(schema=COLUMNS, header=True), None, merge)
        snapshot = DatasetSnapshot(DatasetAlias.from_text("measured"), DatasetKind.ROOT, (source,))
        blocks = blocks_from_snapshot(
            snapshot,
            dataset_id=new_dataset_id(bytes(32)),
            system_time=Instant.from_datetime(BEGIN),
            resolve_input=lambda _: None,
        )
        asyncio.run(self.dataset().append(blocks, expected_head=None))

    def ingest(self, *files: Path) -> Root:
        for file in files:
            asyncio.run(self._ingest(file))
        return self

    def mark(self) -> Root:
        self._head = asyncio.run(self.dataset().head())
        shutil.rmtree(self.folder / "marked", ignore_errors=True)
        shutil.copytree(self._projections, self.folder / "marked", copy_function=_link)
        return self

    def measured(self, file: Path) -> Callable[[], None]:
        """Ingest ``file`` as the next one; putting back takes about a millisecond."""

        def run() -> None:
            self.ingest(file)
            asyncio.run(self._put_back())

        return run

    def slice(self) -> Path:
        """The only slice there is."""
        (found,) = self.slices()
        return found

    def slices(self) -> list[Path]:
        """All that there are, in any order."""
        return list((self.folder / "dataset" / "data").iterdir())

    def dataset(self) -> Dataset:
        """Opened anew, as by each command."""
        return Dataset(LocalObjectStore(self.folder / "dataset"), LocalRefStore(self.folder / "dataset"))

    async def _ingest(self, file: Path) -> None:
        await ingest(
            self.dataset(),
            self._engine,
            Given(file),
            choose=lambda position: push_source(position.state, None),
            system_time=Instant.from_datetime(BEGIN + timedelta(seconds=next(NUMBERS))),
        )

    async def _put_back(self) -> None:
        dataset = self.dataset()
        await dataset.refs.compare_and_swap(HEAD, expected=await dataset.head(), new=self._head)
        shutil.rmtree(self._projections)
        shutil.copytree(self.folder / "marked", self._projections, copy_function=_link)


def _link(source: str, target: str) -> None:
    Path(target).hardlink_to(source)


def rows(folder: Path, count: int, *, begin: int = 0, changed: int = 0) -> Path:
    """A CSV file of ``count`` rows from number ``begin`` on; every ``changed`` one has another value."""
    random = np.random.default_rng(begin)
    numbers = np.arange(begin, begin + count)
    values = random.random(count).round(6)
    if changed:
        values[::changed] += 1
    table = pa.table(
        {
            "event_time": pa.array(1_600_000_000_000 + numbers * 1_000, pa.timestamp("ms", "UTC")),
            "id": numbers,
            "a": values,
            "b": random.random(count).round(6),
            "city": pa.array([f"city-{number % 100_000:08}" for number in numbers]),
        }
    )
    path = folder / f"rows-{begin}-{count}-{changed}.csv"
    arrow_csv.write_csv(table, path)
    return path


def ledger_and_append(quick: bool) -> Question:
    """A million rows over a million."""
    count = 100_000 if quick else 1_000_000
    folder = scratch("rows")
    old, new = rows(folder, count), rows(folder, count, begin=count)
    append, ledger = (Root(each).ingest(old).mark() for each in (MergeStrategyAppend(), MergeStrategyLedger(KEY)))
    units = count / 1_000_000
    return Question(
        f"A CSV of {count:,} rows into a dataset of as many",
        "Mrow",
        [
            Way("append", append.measured(new), units),
            Way("ledger, all new", ledger.measured(new), units),
            Way("ledger, all known", ledger.measured(old), units),
        ],
        [
            Goal("I1", "ledger of new rows / append", "ledger, all new", "append", 1.5, False, "wall"),
            Goal("I1", "ledger of known rows / append", "ledger, all known", "append", 1.5, False, "wall"),
        ],
    )


def snapshot(quick: bool) -> Question:
    """One row in a hundred changed."""
    count = 100_000 if quick else 1_000_000
    folder = scratch("rows")
    old, new = rows(folder, count), rows(folder, count, changed=100)
    ours = Root(MergeStrategySnapshot(("id",))).ingest(old).mark()
    ways, skipped = [by_hand(ours.slice(), new, count)], []
    if ways[0] is None:
        skipped.append("the same join in Spark: there is no Java or no pyspark here")
    return Question(
        f"A snapshot of {count:,} rows, one in a hundred changed",
        "Mrow",
        [Way("our snapshot", ours.measured(new), count / 1_000_000), *filter(None, ways)],
        [Goal("I2", "our snapshot / join by hand", "our snapshot", "join by hand in Spark", 1.0, False, "wall")],
        skipped,
    )


def by_hand(slice_file: Path, new: Path, count: int) -> Way | None:
    """The full join that a snapshot is, over one slice, its changes written as Parquet; in a warm session."""
    spark = plain_spark()
    if spark is None:
        return None
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    session, work = spark.session, spark.work
    names = [column.split()[0] for column in COLUMNS]

    def run() -> None:
        given = session.read.csv(str(new), schema=", ".join(COLUMNS), header=True)
        had = session.read.parquet(str(slice_file)).select(*names)
        one, other = given.alias("new"), had.alias("old")
        differs = [~F.col(f"new.{name}").eqNullSafe(F.col(f"old.{name}")) for name in names]
        joined = one.join(other, F.col("new.id") == F.col("old.id"), "full")
        changed = joined.where(differs[0] | differs[1] | differs[2] | differs[3] | differs[4])
        pairs = [F.col(f"{side}.{name}").alias(f"{side}_{name}") for side in ("old", "new") for name in names]
        changed.select(*pairs).orderBy("new_id").write.parquet(str(work / f"changes-{time.monotonic_ns()}"))

    return Way("join by hand in Spark", run, count / 1_000_000, lambda: cpu_seconds() + spark.process.cpu())


def one_row(quick: bool) -> Question:
    """Over histories of one ingest, of a thousand small ones and of one large one."""
    ingests, count = (100, 100_000) if quick else (1_000, 1_000_000)
    folder = scratch("rows")
    large, one = rows(folder, count), rows(folder, 1, begin=2 * count)
    small = [rows(folder, 1, begin=number) for number in range(ingests)]
    ledger, upsert = MergeStrategyLedger(KEY), MergeStrategyUpsertStream(("id",))
    short = Way("ledger after 1 ingest", Root(ledger).ingest(small[0]).mark().measured(one))
    long = [
        Way(f"ledger after {ingests:,} ingests", Root(ledger).ingest(*small).mark().measured(one)),
        Way(f"ledger after {count:,} rows", Root(ledger).ingest(large).mark().measured(one)),
        Way(f"upsert after {count:,} rows", Root(upsert).ingest(large).mark().measured(one)),
    ]
    goals = [Goal("I3", f"{way.name} / after 1", way.name, short.name, 1.5, False, "wall") for way in long]
    ways = [short, *long]
    return Question("One row into a dataset", "row", ways, goals)


if __name__ == "__main__":
    main(ledger_and_append, snapshot, one_row)
