"""The same chain has the same verdict on one core and on two, in other partitions, and after its worker was killed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.ingest import Engine
from pipeline.worker_client import WorkerClient
from pipeline.worker_place import JobFolders, WorkerOptions
from tests.pipeline.epochs.test_determinism import settings_of
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop
from tests.pipeline.transform.engine_without_spark import HERE, WITH_HALTING
from tests.verify.forge import Forge, reordered, with_value, without_row
from tests.verify.replaying import three_steps, verified, workshop_in
from verify.replayed import ReplayedStep, StepVerdict
from verify.report import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)
FORGES = {
    "as it was made": Forge(),
    "one altered value": Forge({1: with_value("more", 1, 22)}),
    "a dropped row and a reordered pair": Forge({0: reordered, 1: without_row(2)}),
}
PARTITIONS = [
    {"spark.sql.files.maxPartitionBytes": "1000", "spark.sql.leafNodeDefaultParallelism": "5"},
    {"spark.sql.shuffle.partitions": "7", "spark.sql.execution.arrow.maxRecordsPerBatch": "1"},
]


async def steps_of(workshop: Workshop, engine: Engine) -> list[ReplayedStep]:
    """What repeating them says."""
    return (await verified(workshop, "derived", engine=engine)).steps or []


@pytest.mark.parametrize("name", FORGES)
async def test_cores_and_partitions_change_nothing(
    spark: SparkSession, one_core: WorkerClient, tmp_path: Path, name: str
) -> None:
    (tmp_path / "files").mkdir()
    two_cores = LocalEngine(tmp_path / "engine", lambda: spark)
    workshop = await three_steps(Workshop(two_cores, tmp_path / "files"), "spark")
    workshop.datasets["derived"] = await FORGES[name].forged(workshop.datasets["derived"])
    expected = await steps_of(workshop, two_cores)
    assert ({step.verdict for step in expected} == {StepVerdict.VALID}) == (name == "as it was made")
    assert await steps_of(workshop, one_core) == expected
    for wanted in PARTITIONS:
        with settings_of(spark, wanted):
            assert await steps_of(workshop, two_cores) == expected


class KilledAt:
    """A worker's jobs, of which that number, counted from 0, has its worker killed once it is at work."""

    def __init__(self, client: WorkerClient, place: Path, number: int) -> None:
        self._client, self._place, self._left = client, place, number

    def folders(self) -> AbstractContextManager[JobFolders]:
        return self._client.folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._left -= 1
        if self._left != -1:
            return await self._client.run(job, arguments, foreign=True)
        return await self._client.run(f"halting-{job}", arguments, foreign=True, progress=self._kill)

    def _kill(self, _: object) -> None:
        for process in Path("/proc").iterdir():
            with suppress(OSError):
                words = (process / "cmdline").read_bytes().split(b"\0")
                if b"pipeline.worker" in words and str(self._place).encode() in words:
                    os.kill(int(process.name), signal.SIGKILL)


@pytest.fixture
async def worker(tmp_path: Path) -> AsyncIterator[WorkerClient]:
    """As it is shipped, but without Spark."""
    client = WorkerClient(tmp_path / "place", WorkerOptions(engine=HERE, jobs=WITH_HALTING))
    yield client
    await client.end()


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGES)
async def test_a_killed_worker_leaves_one_step_open_and_the_next_run_says_the_same(
    worker: WorkerClient, tmp_path: Path, name: str
) -> None:
    workshop = await three_steps(workshop_in(tmp_path), "datafusion")
    workshop.datasets["derived"] = await FORGES[name].forged(workshop.datasets["derived"])
    expected = await steps_of(workshop, workshop.engine)
    for number in range(len(expected)):
        engine = KilledAt(worker, tmp_path / "place", number)
        report = await asyncio.wait_for(verified(workshop, "derived", engine=engine), 100)
        found = report.steps or []
        assert found[number].verdict is StepVerdict.ENGINE_ERROR
        assert [*found[:number], *found[number + 1 :]] == [*expected[:number], *expected[number + 1 :]]
        assert report.verdict is not Verdict.VALID
        assert await steps_of(workshop, worker) == expected
