"""A Spark worker for tests that run commands."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from opendatafabric.errors import EngineUnavailable
from pipeline.java import find_java
from pipeline.jvm import spark_home
from pipeline.worker_client import WorkerClient
from repo_server.config import Settings


@contextmanager
def own_worker(place: Path) -> Iterator[None]:
    """Commands use a worker at ``place``, which is ended afterwards; skips where Spark cannot run."""
    try:
        find_java()
        spark_home()
    except EngineUnavailable as error:
        pytest.skip(f"Spark cannot run here: {error.message}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ODF_SPARK_PLACE", str(place))
        yield
        settings = Settings()
        asyncio.run(WorkerClient(settings.spark_worker_place, settings.spark_worker_options).end())
