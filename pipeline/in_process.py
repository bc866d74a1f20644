"""Jobs in this process: for queries of one's own that need no Spark, where starting a worker would cost more."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from opendatafabric.errors import EngineUnavailable
from pipeline.jobs import JOBS, JobContext, load_job
from pipeline.worker_place import JobFolders, WorkerPlace


class InProcess:
    """An engine without walls: never for what strangers wrote."""

    @contextmanager
    def folders(self) -> Iterator[JobFolders]:
        """As the worker's client, of a place that is gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="odf-") as place, WorkerPlace(Path(place)).job_folders() as folders:
            yield folders

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer of a job."""
        context = JobContext(_no_session, lambda _: None, sandboxed=False)
        return await asyncio.to_thread(load_job(JOBS, job), context, arguments)


def _no_session() -> NoReturn:
    raise EngineUnavailable("there is no Spark in this process")
