"""The worker as a process: what it needs, from the settings, and what ends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from catalog.catalog import open_catalog
from catalog.jobs import POLL, TRANSFORM, VERIFY, ClaimedJob
from cli.catalogs import settings_for
from cli.datasets import opened_repository
from cli.fetching import fetch_options
from cli.ingests import now_or
from cli.stopping import stop_asked
from pipeline.poll_job import PollJob
from pipeline.transform.derive_job import DeriveJob
from pipeline.worker_client import WorkerClient
from repo_server.config import Settings, allowed_variables
from repo_server.ingesting import ForeignEngine
from repo_server.logs import redacted, start_logging
from storage.repositories import DatasetRepository
from verify.verify_job import VerifyJob
from verify.worker import LOG, JobWorker


async def run_worker(
    repository: str, *, allowed: Sequence[str], attached: bool, on_ready: Callable[[], None], once: bool = False
) -> None:
    """Do the jobs of the repository's catalog until SIGTERM, Ctrl-C or, if ``attached``, the end of standard input.

    With ``once`` what is due now, and no more.
    """
    settings = settings_for(repository)
    start_logging(settings.log_level)
    async with open_catalog(settings.database_url) as catalog, opened_repository(repository) as opened:
        client = _client(settings)
        polling = _polling(settings, opened, client, allowed)
        deriving = DeriveJob(opened, client, ForeignEngine(settings), lambda: now_or(None), settings.engines_elsewhere)
        verifying = VerifyJob(opened, ForeignEngine(settings), settings.engines_elsewhere)

        async def poll(job: ClaimedJob) -> dict[str, object]:
            return await polling.run(job.id.dataset_id, foreign=job.foreign)

        async def derive(job: ClaimedJob) -> dict[str, object]:
            return await deriving.run(job.id.dataset_id, foreign=job.foreign)

        async def verify(job: ClaimedJob) -> dict[str, object]:
            return await verifying.run(job.id.dataset_id)

        kinds = {POLL: poll, TRANSFORM: derive, VERIFY: verify}
        worker = JobWorker(catalog.jobs, kinds, redacted=redacted)
        async with stop_asked(attached=attached) as stop:
            on_ready()
            await (worker.run_all_due() if once else worker.run_until(stop, grace_s=settings.stop_s))
            LOG.info("stopping")


def _client(settings: Settings) -> WorkerClient:
    options = settings.spark_worker_options
    return WorkerClient(settings.spark_worker_place, options, say=lambda what: LOG.info("%s", what))


def _polling(
    settings: Settings, repository: DatasetRepository, client: WorkerClient, allowed: Sequence[str]
) -> PollJob:
    variables = allowed_variables([*settings.source_variables, *allowed])
    return PollJob(
        repository, client, ForeignEngine(settings), fetch_options(settings, variables), lambda: now_or(None)
    )
