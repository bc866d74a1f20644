"""What does it cost to append?

Asked for a CSV of three million rows (a time, a whole number, two doubles, thirteen characters) from the file to the
moved head through a warm worker, next to what reads and writes it barely: pyarrow, and plain Spark. Asked for four
times as many rows, with the memory that it takes; and for one row, at the first ingest and after a thousand.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from benchmarks.harness import Goal, Question, Way, cpu_seconds, main
from benchmarks.merge import COLUMNS, Root, rows
from benchmarks.plain_spark import plain_spark
from benchmarks.processes import scratch
from benchmarks.spark_worker import Worker
from opendatafabric.metadata.sources import MergeStrategyAppend

ROWS = 3_000_000
INGESTS = 1_000
TEN = 10
PYARROW_MAX = 4.0
SPARK_MIN = 0.6
GROWTH_MAX = 1.5
ONE_ROW_S_MAX = 0.3


def many_rows(quick: bool) -> Question:
    """A warm worker next to pyarrow and Spark."""
    count = ROWS // 10 if quick else ROWS
    worker, file, units = Worker(), rows(scratch("rows"), count), count / 1_000_000
    root, target = Root(MergeStrategyAppend(), worker.client), scratch("bare") / "rows.parquet"
    spark = by_spark(file, units)
    return Question(
        f"A CSV of {count:,} rows, {file.stat().st_size / 1e6:.0f} MB",
        "Mrow",
        [
            Way("append by a warm worker", lambda: root.ingest(file), units, worker.cpu),
            Way("pyarrow", lambda: pq.write_table(arrow_csv.read_csv(file), target), units),
            *([] if spark is None else [spark]),
        ],
        [
            Goal("I4", "append / pyarrow", "append by a warm worker", "pyarrow", PYARROW_MAX, False, "wall"),
            Goal(
                "I5", "speed to plain Spark", "append by a warm worker", "plain Spark", SPARK_MIN, measure="wall_speed"
            ),
        ],
        ["plain Spark: there is no Java or no pyspark here"] if spark is None else [],
    )


def by_spark(file: Path, units: float) -> Way | None:
    """``read.csv`` and ``write.parquet`` in a warm session."""
    spark = plain_spark()
    if spark is None:
        return None

    def run() -> None:
        given = spark.session.read.csv(str(file), schema=", ".join(COLUMNS), header=True)
        given.write.mode("overwrite").parquet(str(spark.work / "rows"))

    return Way("plain Spark", run, units, lambda: cpu_seconds() + spark.process.cpu())


def more_rows(quick: bool) -> Question:
    """Time for each row and memory for all of them, once and four times over."""
    count = ROWS // 10 if quick else ROWS
    worker, folder = Worker(), scratch("rows")
    ways, peaks = [], {}
    for times in (1, 4):
        file, root = rows(folder, times * count), Root(MergeStrategyAppend(), worker.client)

        def run(file: Path = file, root: Root = root, times: int = times) -> None:
            if peaks:
                worker.forget_peak()
            root.ingest(file)
            peaks[times] = worker.peak_mib()
            if len(peaks) == 2:
                told = f"once {peaks[1]:.0f} MiB, four times {peaks[4]:.0f} MiB"
                met = peaks[4] <= GROWTH_MAX * peaks[1]
                print(f"  the engine takes {told} ({'meets' if met else 'does NOT meet'} I6: {GROWTH_MAX})", flush=True)

        ways.append(Way(f"{times * count:,} rows", run, times * count / 1_000_000, worker.cpu))
    goal = Goal("I6", "four times / once, for each row", ways[1].name, ways[0].name, 1.25, False, "wall")
    return Question("Four times the rows", "Mrow", ways, [goal])


def one_row(quick: bool) -> Question:
    """The first ten and the last ten of a thousand, and again and again in turns with those of a new dataset."""
    ingests = INGESTS // 10 if quick else INGESTS
    worker, one = Worker(), rows(scratch("rows"), 1)
    new, long = Root(MergeStrategyAppend(), worker.client).ingest(one), Root(MergeStrategyAppend(), worker.client)
    taken = []
    for _ in range(ingests):
        began = time.perf_counter()
        long.ingest(one)
        taken.append(time.perf_counter() - began)
    first, last = statistics.median(taken[1 : TEN + 1]), statistics.median(taken[-TEN:])
    met = "meets" if max(first, last) <= ONE_ROW_S_MAX else "does NOT meet"
    print(f"  one row: first ten {first:.3f} s, last ten of {ingests:,} {last:.3f} s ({met} I7: {ONE_ROW_S_MAX} s)")
    after = f"after {ingests:,} ingests"
    return Question(
        "One row through a warm worker",
        "row",
        [
            Way("after one ingest", lambda: new.ingest(one), 1, worker.cpu),
            Way(after, lambda: long.ingest(one), 1, worker.cpu),
        ],
        [Goal("I7", "after a thousand / after one", after, "after one ingest", 1.5, False, "wall")],
    )


if __name__ == "__main__":
    main(many_rows, more_rows, one_row)
