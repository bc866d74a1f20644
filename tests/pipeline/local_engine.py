"""An engine in the process of the test: the same jobs, on the session that tests share, or without Spark."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.jobs import JOBS, JobContext, load_job
from pipeline.worker_place import JobFolders, WorkerPlace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class LocalEngine:
    """Jobs one after another; ``jobs_done`` counts them."""

    def __init__(self, session: SparkSession | None, root: Path) -> None:
        self._context = JobContext(lambda: _given(session), lambda _: None, sandboxed=False)
        self._place = WorkerPlace(root)
        self.jobs_done = 0

    def folders(self) -> AbstractContextManager[JobFolders]:
        """As the worker's client."""
        return self._place.job_folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer of the job, after a way through JSON as between processes."""
        self.jobs_done += 1
        return load_job(JOBS, job)(self._context, arguments)


def _given(session: SparkSession | None) -> SparkSession:
    assert session is not None, "this test has no Spark"
    return session
