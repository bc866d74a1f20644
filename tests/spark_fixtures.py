"""One JVM with one session for all tests that ask Spark; without Java or pyspark they are skipped, and say why."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from opendatafabric.errors import EngineDied, EngineUnavailable
from pipeline.java import find_java
from pipeline.jvm import JvmOptions, spark_home, start_jvm
from pipeline.worker_client import WorkerClient
from pipeline.worker_place import WorkerOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share the JVM are slow, and run in one process where several run side by side.

    First, since xdist looks at the groups at the same moment.
    """
    for item in items:
        if {"spark", "one_core"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def java_and_pyspark() -> None:
    """Skips where Spark cannot run."""
    try:
        find_java()
        spark_home()
    except EngineDied:
        raise
    except EngineUnavailable as error:
        pytest.skip(f"Spark cannot run here: {error.message}")


@pytest.fixture(scope="session")
def spark(java_and_pyspark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session."""
    from pipeline.session import spark_session  # noqa: PLC0415

    work = tmp_path_factory.mktemp("spark")
    jvm = start_jvm(find_java(), JvmOptions(work, 1024**3, properties={"spark.local.dir": str(work)}))
    session = spark_session(jvm)
    yield session
    session.stop()
    jvm.stop()


@pytest.fixture(scope="session")
def one_core(java_and_pyspark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerClient]:
    """A worker as it is shipped, but that it has one core."""
    client = WorkerClient(tmp_path_factory.mktemp("one-core"), WorkerOptions(cores=1, heap_bytes=1024**3))
    yield client
    asyncio.run(client.end())
