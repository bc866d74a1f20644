"""The whole of it with Spark: a worker, its engine inside the sandbox, and a job."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from opendatafabric.errors import EngineDied, InvalidQuery
from pipeline.worker_client import WorkerClient
from pipeline.worker_place import WorkerOptions
from tests.pipeline.spark_jobs import JOBS

pytestmark = pytest.mark.slow


@pytest.fixture
async def client(tmp_path: Path, java_and_pyspark: None) -> AsyncIterator[WorkerClient]:
    client = WorkerClient(tmp_path / "place", WorkerOptions(jobs=JOBS, heap_bytes=1024**3))
    yield client
    await client.end()


async def test_spark_runs_inside_the_sandbox_and_writes_a_slice(client: WorkerClient, tmp_path: Path) -> None:
    told = await client.run("describe", {})
    assert told["engine"].startswith("pyspark 4")
    assert told["sandboxed"]
    given = tmp_path / "numbers.csv"
    given.write_text("1\n2\n3\n")
    with client.folders() as folders:
        inside, made = folders.give(given), folders.made / "slice"
        written = await client.run("add_up", {"from": str(inside), "to": str(made)}, foreign=True)
        assert (written["total"], made.stat().st_size) == (6, written["size"])
    with pytest.raises(InvalidQuery, match="which is none of its inputs"):
        await client.run("query", {"sql": "select * from secrets"}, foreign=True)
    secret = tmp_path / "secret.csv"
    secret.write_text("1\n")
    assert "Permission denied" in (await client.run("read", {"path": str(secret)}))["refused"]


async def test_a_jvm_that_dies_is_told_and_the_next_job_finds_another(client: WorkerClient) -> None:
    java = (await client.run("java_process", {}))["process"]
    os.kill(java, 9)
    with pytest.raises(EngineDied):
        await client.run("describe", {})
    assert (await client.run("java_process", {}))["process"] != java
