"""Derivatives by a real worker, its engine walled in: both engines see their inputs, and queries see nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.errors import InvalidQuery
from pipeline.worker_client import WorkerClient
from pipeline.worker_place import JobFolders, WorkerOptions
from tests.pipeline.transform.derived import Workshop, query_over

pytestmark = pytest.mark.slow
QUERY = "select event_time, city, population * 2 as twice from cities where population > 10"


class ForeignJobs:
    """Every job as that of a stranger: in a sandbox or not at all."""

    def __init__(self, client: WorkerClient) -> None:
        self.client = client

    def folders(self) -> AbstractContextManager[JobFolders]:
        return self.client.folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self.client.run(job, arguments, foreign=True)


@pytest.fixture
async def walled(tmp_path: Path, java_and_pyspark: None) -> AsyncIterator[Workshop]:
    """Cities, with a worker of its own."""
    (tmp_path / "files").mkdir()
    client = WorkerClient(tmp_path / "place", WorkerOptions(heap_bytes=1024**3))
    workshop = Workshop(ForeignJobs(client), tmp_path / "files")
    await workshop.add_cities()
    await workshop.push("cities", on=2, lviv=5, kyiv=30, odesa=20)
    yield workshop
    await client.end()


async def test_both_engines_give_the_same_rows_and_read_nothing_else(walled: Workshop, tmp_path: Path) -> None:
    for engine in ("datafusion", "spark"):
        await walled.add(engine, query_over(QUERY, "cities", engine=engine))
        await walled.step(engine, on=3)
    await walled.push("cities", on=4, dnipro=15)
    for engine in ("datafusion", "spark"):
        await walled.step(engine, on=5)
        rows = [(row["city"], row["twice"]) for row in await walled.rows(engine, "city", "twice")]
        assert rows == [("kyiv", 60), ("odesa", 40), ("dnipro", 30)]
    secret = tmp_path / "secret.csv"
    secret.write_text("n\n1\n")
    for engine, relation in (("datafusion", f"'{secret}'"), ("spark", f"csv.`{secret}`")):
        await walled.add(f"prying-{engine}", query_over(f"select * from {relation}", "cities", engine=engine))
        with pytest.raises(InvalidQuery):
            await walled.step(f"prying-{engine}", on=6)
