"""What does it cost to repeat the steps of a derivative?

Asked for a chain of a thousand small steps by a query that goes record by record, next to one step with the same SQL
over all the input, and to plain Spark from Parquet to Parquet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from benchmarks.harness import Goal, Question, Way, main
from benchmarks.merge import Root
from benchmarks.spark_worker import Worker
from benchmarks.transform import Derivative, by_spark, root_of
from opendatafabric.did import DatasetId
from opendatafabric.metadata.events import ExecuteTransform
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from verify.replay import Replay
from verify.replayed import StepVerdict

STEPS = 1_000
RECORDS_OF_STEP = 10
TIMES_MAX = 3.0


def small_steps(quick: bool) -> Question:
    """A derivative that was made in a thousand steps of ten records each."""
    steps = STEPS // 10 if quick else STEPS
    worker = Worker()
    root, heads = root_of(worker, steps * RECORDS_OF_STEP, steps)
    made = Derivative(root, worker, "spark")
    for head in heads:
        made.pull(head)
    once = Way("the same SQL in one step", Derivative(root, worker, "spark").measured(), 1, worker.cpu)
    replayed = Way(f"{steps:,} steps repeated", replay(made, root, worker, steps), 1, worker.cpu)
    spark = by_spark(root.slices(), 1)
    goal = Goal("V1", "repeated / in one step", replayed.name, once.name, TIMES_MAX, False, "wall")
    skipped = ["plain Spark: there is no Java or no pyspark here"] if spark is None else []
    ways = [replayed, once, *([] if spark is None else [spark])]
    return Question(f"{steps:,} steps of {RECORDS_OF_STEP} records", "chain", ways, [goal], skipped)


def replay(derivative: Derivative, root: Root, worker: Worker, steps: int) -> Callable[[], None]:
    """All of its steps, from datasets that are opened anew; each has to be valid."""

    async def find(_: DatasetId) -> Dataset:
        return root.dataset()

    async def verdicts() -> list[StepVerdict]:
        dataset = Dataset(LocalObjectStore(derivative.folder), LocalRefStore(derivative.folder))
        head = await dataset.head()
        assert head is not None
        blocks = [block async for batch in dataset.walk(head) for block in batch]
        hashes = [block.hash for block in reversed(blocks) if isinstance(block.event, ExecuteTransform)]
        return [step.verdict async for step in Replay(find, worker.client).steps(dataset, hashes)]

    def run() -> None:
        assert asyncio.run(verdicts()) == [StepVerdict.VALID] * steps

    return run


if __name__ == "__main__":
    main(small_steps)
