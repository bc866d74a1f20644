"""What does it cost to bring a derivative up to date?

Asked for a map with a filter over ten million rows, from the slices of the input to the moved head through a warm
worker, next to the same SQL in plain Spark from Parquet to Parquet, with the memory that it takes, and by each dialect;
for a thousand small blocks of an input, next to one block with the same rows; for windows in ten steps, next to plain
Structured Streaming; and for one row, as the first step and after a thousand.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import Goal, Question, Way, cpu_seconds, main
from benchmarks.merge import BEGIN, Root, rows
from benchmarks.plain_spark import plain_spark
from benchmarks.processes import scratch
from benchmarks.spark_worker import Worker
from opendatafabric.block_ref import HEAD
from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import DatasetKind, SetTransform
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.metadata.sources import MergeStrategyAppend
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from opendatafabric.multihash import Multihash
from pipeline.transform.run import transform
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.memory import MemoryRefStore

QUERY = "select event_time, id * 2 as twice, a + b as total, upper(city) as city from records where a > 0.1"
WINDOWED = (
    "select window.end as event_time, id % 10 as bucket, count(1) as n, max(id) as most from records"
    " group by window(event_time, '1 hour'), id % 10"
)
WINDOWS = "odf-epoch/1 in windows"
DIALECTS = ("spark", "odf-epoch/1", "datafusion")
SQL = {
    "spark": TransformSql("spark", queries=(SqlQueryStep(query=QUERY),)),
    "odf-epoch/1": TransformSql("spark", "odf-epoch/1", queries=(SqlQueryStep(query=QUERY),)),
    "datafusion": TransformSql("datafusion", queries=(SqlQueryStep(query=QUERY),)),
    WINDOWS: TransformSql("spark", "odf-epoch/1", queries=(SqlQueryStep(query=WINDOWED),)),
}
NOW = Instant.from_rfc3339("2026-01-01T00:00:00Z")
ROWS = 10_000_000
BLOCKS = 10
SMALL_BLOCKS = 1_000
STEPS = 1_000
FIFTY = 50
SPARK_MIN = 0.6
GROWTH_MAX = 1.5
ONE_ROW_S_MAX = 0.5
ONE_ROW_REMEMBERED_S_MAX = 3.0


class Derivative:
    """A derivative in a folder, over one root."""

    def __init__(self, root: Root, worker: Worker, dialect: str) -> None:
        self.folder, self._root, self._worker = scratch("derivative"), root, worker
        event = SetTransform((TransformInput(new_dataset_id(bytes(32)), "records"),), SQL[dialect])
        snapshot = DatasetSnapshot(DatasetAlias.from_text("derived"), DatasetKind.DERIVATIVE, (event,))
        blocks = blocks_from_snapshot(
            snapshot,
            dataset_id=new_dataset_id(b"derived".ljust(32)),
            system_time=Instant.from_datetime(BEGIN),
            resolve_input=lambda ref: ref if isinstance(ref, DatasetId) else None,
        )
        asyncio.run(self._dataset().append(blocks, expected_head=None))

    def pull(self, until: Multihash | None = None) -> None:
        """One step, over all that the root has or had when that block was its head."""
        asyncio.run(self._pull(until))

    def measured(self, *until: Multihash) -> Callable[[], None]:
        """The next step, or those up to each of the heads, taken back each time: that takes about a millisecond."""
        before = asyncio.run(self._dataset().head())

        def run() -> None:
            for head in until or (None,):
                self.pull(head)
            asyncio.run(self._put_back(before))

        return run

    def _dataset(self) -> Dataset:
        """Opened anew, as by each command."""
        return Dataset(LocalObjectStore(self.folder), LocalRefStore(self.folder))

    async def _pull(self, until: Multihash | None) -> None:
        async def find(_: DatasetId) -> Dataset:
            root = self._root.dataset()
            if until is None:
                return root
            refs = MemoryRefStore()
            await refs.compare_and_swap(HEAD, expected=None, new=until)
            return Dataset(root.objects, refs)

        outcome = await transform(self._dataset(), find, self._worker.client, system_time=NOW)
        assert outcome is not None
        assert outcome.changed

    async def _put_back(self, head: Multihash | None) -> None:
        dataset = self._dataset()
        await dataset.refs.compare_and_swap(HEAD, expected=await dataset.head(), new=head)


def root_of(worker: Worker, count: int, blocks: int) -> tuple[Root, list[Multihash]]:
    """Rows in that many blocks, and the head after each."""
    root, heads, each = Root(MergeStrategyAppend(), worker.client), [], count // blocks
    for number in range(blocks):
        file = rows(scratch("rows"), each, begin=number * each)
        root.ingest(file)
        file.unlink()
        heads.append(asyncio.run(root.dataset().head()))
    return root, [head for head in heads if head is not None]


def map_and_filter(quick: bool) -> Question:
    """As large as it gets."""
    return beside_spark(ROWS // 20 if quick else ROWS, BLOCKS, ("spark",))


def dialects(quick: bool) -> Question:
    """A tenth of it: two of them have all rows in memory at once."""
    return beside_spark((ROWS // 20 if quick else ROWS) // 10, 1, DIALECTS)


def beside_spark(count: int, blocks: int, names: tuple[str, ...]) -> Question:
    """Those dialects next to plain Spark."""
    worker, units = Worker(), count / 1_000_000
    root, _ = root_of(worker, count, blocks)
    ways = [Way(name, Derivative(root, worker, name).measured(), units, worker.cpu) for name in names]
    spark = by_spark(root.slices(), units)
    return Question(
        f"A map with a filter over {count:,} rows, blocks: {blocks}",
        "Mrow",
        [*ways, *([] if spark is None else [spark])],
        [
            Goal("T1", f"speed of {name} to plain Spark", name, "plain Spark", SPARK_MIN, measure="wall_speed")
            for name in names
        ],
        ["plain Spark: there is no Java or no pyspark here"] if spark is None else [],
    )


def by_spark(slices: list[Path], units: float) -> Way | None:
    """The same query in a warm session, from Parquet to Parquet."""
    spark = plain_spark()
    if spark is None:
        return None

    def run() -> None:
        spark.session.read.parquet(*map(str, slices)).createOrReplaceTempView("records")
        spark.session.sql(QUERY).write.mode("overwrite").parquet(str(spark.work / "derived"))

    return Way("plain Spark", run, units, lambda: cpu_seconds() + spark.process.cpu())


def more_rows(quick: bool) -> Question:
    """Time for each row and memory for all of them, once and four times over."""
    count = ROWS // 40 if quick else ROWS // 4
    worker = Worker()
    ways: list[Way] = []
    peaks: dict[int, tuple[float, float]] = {}
    for times in (1, 4):
        root, _ = root_of(worker, times * count, times)
        pull = Derivative(root, worker, "spark").measured()

        def run(times: int = times, pull: Callable[[], None] = pull) -> None:
            if len(peaks) == 1:
                worker.forget_peak()
            pull()
            peaks[times] = worker.peak_mib(), worker.jvm_peak_mib()
            if len(peaks) == 2:
                _tell_peaks(peaks)

        ways.append(Way(f"{times * count:,} rows", run, times * count / 1_000_000, worker.cpu))
    goal = Goal("T2", "four times / once, for each row", ways[1].name, ways[0].name, 1.25, False, "wall")
    return Question("Four times the rows in spark", "Mrow", ways, [goal])


def _tell_peaks(peaks: dict[int, tuple[float, float]]) -> None:
    (once, jvm_once), (four, jvm_four) = peaks[1], peaks[4]
    met = "meets" if four <= GROWTH_MAX * once else "does NOT meet"
    print(f"  the engine takes once {once:.0f} MiB, four times {four:.0f} MiB ({met} T3: {GROWTH_MAX})", flush=True)
    print(f"  its JVM once {jvm_once:.0f} MiB, four times {jvm_four:.0f} MiB", flush=True)


def small_blocks(quick: bool) -> Question:
    """A thousand blocks in one pull, next to one block."""
    blocks = SMALL_BLOCKS // 10 if quick else SMALL_BLOCKS
    worker, count = Worker(), blocks * 10
    roots = {f"{blocks:,} blocks": blocks, "one block": 1}
    ways = []
    for name, number in roots.items():
        root, _ = root_of(worker, count, number)
        ways += [
            Way(f"{name}, {each}", Derivative(root, worker, each).measured(), 1, worker.cpu)
            for each in ("spark", "odf-epoch/1")
        ]
    goals = [
        Goal("T4", f"{each}: many / one", f"{blocks:,} blocks, {each}", f"one block, {each}", 10, False, "wall")
        for each in ("spark", "odf-epoch/1")
    ]
    return Question(f"{count:,} rows in one step", "step", ways, goals)


def windows(quick: bool) -> Question:
    """One step for each block, next to a stream of the same files."""
    count = ROWS // 20 if quick else ROWS
    worker, units = Worker(), count / 1_000_000
    root, heads = root_of(worker, count, BLOCKS)
    steps = Way(WINDOWS, Derivative(root, worker, WINDOWS).measured(*heads), units, worker.cpu)
    stream = by_stream(root.slices(), units)
    return Question(
        f"Tumbling windows over {count:,} rows in {BLOCKS} steps",
        "Mrow",
        [steps, *([] if stream is None else [stream])],
        [Goal("T7", "speed to Structured Streaming", WINDOWS, "Structured Streaming", SPARK_MIN, measure="wall_speed")],
        ["Structured Streaming: there is no Java or no pyspark here"] if stream is None else [],
    )


def by_stream(slices: list[Path], units: float) -> Way | None:
    """A micro-batch for each file, the oldest first; its state and its results begin anew each time."""
    spark = plain_spark()
    if spark is None:
        return None
    session, folder = spark.session, slices[0].parent
    schema = session.read.parquet(str(slices[0])).schema

    def run() -> None:
        files = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
        files.withWatermark("event_time", "0 seconds").createOrReplaceTempView("records")
        work = spark.work / f"stream-{time.monotonic_ns()}"
        options = {"checkpointLocation": str(work / "checkpoint"), "path": str(work / "windows")}
        writing = session.sql(WINDOWED).writeStream.format("parquet").options(**options)
        writing.trigger(availableNow=True).start().awaitTermination()

    return Way("Structured Streaming", run, units, lambda: cpu_seconds() + spark.process.cpu())


def one_row(quick: bool) -> Question:
    """The first fifty and the last fifty steps of a thousand, and again and again in turns the second and the last."""
    steps = STEPS // 10 if quick else STEPS
    worker = Worker()
    root, heads = root_of(worker, steps + 1, steps + 1)
    ways: list[Way] = []
    goals: list[Goal] = []
    for name, seconds_max in (*((each, ONE_ROW_S_MAX) for each in DIALECTS), (WINDOWS, ONE_ROW_REMEMBERED_S_MAX)):
        new, long = Derivative(root, worker, name), Derivative(root, worker, name)
        new.pull(heads[0])
        _tell_steps(name, [_seconds(long, head) for head in heads[:-1]], seconds_max)
        first, last = Way(f"{name}, second", new.measured(heads[1]), 1, worker.cpu), f"{name}, after {steps:,}"
        ways += [first, Way(last, long.measured(), 1, worker.cpu)]
        goals.append(Goal("T6", f"{name}: last / second", last, first.name, 1.5, False, "wall"))
    return Question("One row through a warm worker", "step", ways, goals)


def _seconds(derivative: Derivative, until: Multihash) -> float:
    began = time.perf_counter()
    derivative.pull(until)
    return time.perf_counter() - began


def _tell_steps(name: str, taken: list[float], seconds_max: float) -> None:
    first, last = statistics.median(taken[1 : FIFTY + 1]), statistics.median(taken[-FIFTY:])
    met = "meets" if max(first, last) <= seconds_max else "does NOT meet"
    told = f"first fifty {first:.3f} s, last fifty of {len(taken):,} {last:.3f} s"
    print(f"  one row in {name}: {told} ({met} T5: {seconds_max:g} s)", flush=True)


if __name__ == "__main__":
    main(map_and_filter, dialects, more_rows, small_blocks, windows, one_row)
