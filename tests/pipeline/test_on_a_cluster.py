"""A real cluster: a master of Spark's own and one that computes for it, each in a process, and our driver."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from opendatafabric.errors import EngineUnavailable
from pipeline.java import find_java
from pipeline.jvm import JvmOptions, jvm_command, spark_home
from pipeline.worker_client import WorkerClient
from pipeline.worker_place import WorkerOptions
from tests.pipeline.spark_jobs import JOBS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

MASTER = ("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
COMPUTER = "org.apache.spark.deploy.worker.Worker"


@contextmanager
def started(work: Path, *main: str) -> Iterator[Path]:
    """A program of Spark's; where it prints."""
    work.mkdir()
    command = jvm_command(find_java(), JvmOptions(work, 512 * 1024**2), spark_home())
    loud = work / "log4j2.properties"
    loud.write_text(
        "rootLogger.level=info\nrootLogger.appenderRef.out.ref=out\nappender.out.type=Console\nappender.out.name=out\n"
        "appender.out.layout.type=PatternLayout\nappender.out.layout.pattern=%m%n\n"
    )
    command = [word for word in command[:-1] if "log4j2" not in word]
    command[1:1] = [f"-Dlog4j2.configurationFile={loud}"]
    environment = {"PATH": os.environ["PATH"], "SPARK_HOME": str(spark_home()), "SPARK_SCALA_VERSION": "2.13",
                   "SPARK_LOCAL_IP": "127.0.0.1"}  # fmt: skip
    log = work / "log"
    with log.open("wb") as output:
        process = subprocess.Popen([*command, *main], cwd=work, env=environment, stdout=output, stderr=output)
    try:
        yield log
    finally:
        process.terminate()
        process.wait(30)


def told(log: Path, pattern: str) -> str:
    """What the first group of the pattern is, once it is printed."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(log.read_text(errors="replace"))


@pytest.fixture(scope="module")
def cluster(java_and_pyspark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master with one computer of one core."""
    folder = tmp_path_factory.mktemp("cluster")
    with started(folder / "master", *MASTER) as log:
        address = told(log, r"Starting Spark master at (spark://\S+)")
        resources = ("--cores", "1", "--memory", "1g", "--webui-port", "0", "--host", "127.0.0.1")
        with started(folder / "computer", COMPUTER, *resources, "--work-dir", str(folder / "jobs"), address) as other:
            told(other, r"(Successfully registered)")
            yield address


@pytest.fixture
async def client(tmp_path: Path, cluster: str) -> AsyncIterator[WorkerClient]:
    settings = tmp_path / "cluster.conf"
    settings.write_text("spark.executor.memory 512m\nspark.authenticate false\n")
    options = WorkerOptions(jobs=JOBS, heap_bytes=1024**3, master=cluster, cluster_settings=str(settings))
    client = WorkerClient(tmp_path / "place", options)
    yield client
    await client.end()


async def test_queries_are_computed_by_the_cluster(client: WorkerClient, cluster: str, tmp_path: Path) -> None:
    given = tmp_path / "numbers.csv"
    given.write_text("1\n2\n3\n")
    with client.folders() as folders:
        written = await client.run("add_up", {"from": str(folders.give(given)), "to": str(folders.made / "slice")})
    assert written["total"] == 6
    assert (await client.run("computers", {})) == {"master": cluster, "computers": 2, "memory": "512m"}


async def test_queries_of_strangers_are_refused_where_there_is_no_sandbox(client: WorkerClient) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        await client.run("query", {"sql": "select 1"}, foreign=True)
    assert "ODF_SPARK_MASTER" in str(caught.value.hint)


async def test_a_cluster_that_does_not_answer_is_told(tmp_path: Path, java_and_pyspark: None) -> None:
    client = WorkerClient(tmp_path / "place", WorkerOptions(jobs=JOBS, heap_bytes=1024**3, master="spark://nowhere"))
    try:
        with pytest.raises(EngineUnavailable, match="Spark does not start"):
            await client.run("computers", {})
    finally:
        await client.end()
