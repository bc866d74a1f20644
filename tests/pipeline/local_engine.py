"""An engine in the process of the test: the same jobs, without Spark unless a session is given."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pipeline.jobs import JOBS, JobContext, load_job
from pipeline.worker_place import JobFolders, WorkerPlace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def no_spark() -> NoReturn:
    """For jobs that open no session."""
    raise AssertionError("this test has no Spark")


class LocalEngine:
    """Jobs one after another; ``jobs_done`` counts them, ``told`` is their progress."""

    def __init__(self, root: Path, open_session: Callable[[], SparkSession] = no_spark) -> None:
        self.told: list[dict[str, Any]] = []
        self._context = JobContext(open_session, self.told.append, sandboxed=False)
        self._place = WorkerPlace(root)
        self.jobs_done = 0

    def folders(self) -> AbstractContextManager[JobFolders]:
        """As the worker's client."""
        return self._place.job_folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer of the job, after a way through JSON as between processes."""
        self.jobs_done += 1
        return load_job(JOBS, job)(self._context, arguments)
