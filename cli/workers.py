"""The worker as a process: what it needs, from the settings, and what ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from catalog.catalog import Catalog, open_catalog
from catalog.jobs import POLL, PROMOTE, SETTLE_S, TRANSFORM, VERIFY, ClaimedJob
from cli.attesters import attester_of
from cli.catalogs import settings_for
from cli.datasets import opened_repository
from cli.fetching import fetch_options
from cli.gates import promote_job, rights_in
from cli.ingests import now_or
from cli.stopping import stop_asked
from pipeline.engine_contract.preprocessing import PreprocessElsewhere
from pipeline.inputs import MayRead
from pipeline.poll_job import PollJob
from pipeline.transform.derive_job import DeriveJob
from pipeline.worker_client import WorkerClient
from repo_server.config import Settings, allowed_variables
from repo_server.ingesting import ForeignEngine, other_sparks
from repo_server.logs import redacted, start_logging
from storage.repositories import DatasetRepository
from verify.audited_jobs import audited
from verify.lookout import Lookout
from verify.metered_jobs import metered
from verify.progress_notes import told_progress
from verify.promotion import Promotions
from verify.proved_notes import notes_folder
from verify.report_room import ReportRoom
from verify.trust import Trust
from verify.verify_job import VerifyJob
from verify.worker import LOG, JobKind, JobWorker


async def run_worker(
    repository: str, *, allowed: Sequence[str], attached: bool, on_ready: Callable[[], None], once: bool = False
) -> None:
    """Do the jobs of the repository's catalog until SIGTERM, Ctrl-C or, if ``attached``, the end of standard input.

    With ``once`` what is due now, and no more.
    """
    settings = settings_for(repository)
    start_logging(settings.log_level)
    async with open_catalog(settings.database_url) as catalog, opened_repository(repository) as opened:
        lookout = Lookout(opened, catalog, settle_s=0.0 if once else SETTLE_S)
        kinds = _kinds(settings, opened, catalog, allowed)
        worked = {
            kind: lookout.around(audited(metered(run, catalog, settings.quota_limits), opened, catalog))
            for kind, run in kinds.items()
        }
        worker = JobWorker(
            catalog.jobs, worked, redacted=redacted, lease_s=settings.job_lease_s, job_s_max=settings.job_s_max
        )
        async with stop_asked(attached=attached) as stop:
            on_ready()
            await Promotions(opened, catalog.gates).finish_begun()
            if once:
                await lookout.forget_gone()
                await lookout.look()
                await worker.run_all_due()
            else:
                await _run_until(stop, worker, (lookout.look_for_ever(),), grace_s=settings.stop_s)
            LOG.info("stopping")


async def _run_until(
    stop: asyncio.Event, worker: JobWorker, beside: Sequence[Coroutine[Any, Any, None]], *, grace_s: float
) -> None:
    tasks = [asyncio.create_task(each) for each in beside]
    try:
        await worker.run_until(stop, grace_s=grace_s)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _kinds(
    settings: Settings, repository: DatasetRepository, catalog: Catalog, allowed: Sequence[str]
) -> dict[str, JobKind]:
    """What the worker can do. For strangers queries run in a sandbox or not at all, over what they may read."""
    rights, promoting = rights_in(settings, catalog), promote_job(settings, repository, catalog)
    client = _client(settings)
    polling = _polling(settings, repository, client, allowed)
    deriving = DeriveJob(repository, client, ForeignEngine(settings), lambda: now_or(None), settings.engines_elsewhere)
    attester = attester_of(settings, catalog)
    if attester is None:
        LOG.warning("verdicts are not signed: no place for the key is known (ODF_ATTESTATION_KEY_FILE)")
    room = ReportRoom(catalog.reports, settings.reports_kept, attester, catalog.events)
    engine, notes = ForeignEngine(settings), notes_folder()
    versions = {"spark": other_sparks(settings)}
    verifying = VerifyJob(repository, engine, room, settings.engines_elsewhere, versions, notes)

    trust = Trust(repository, rights)

    async def poll(job: ClaimedJob) -> dict[str, object]:
        return await polling.run(job.id.dataset_id, foreign=(await trust.checked(job)).foreign)

    async def may_read(job: ClaimedJob) -> MayRead | None:
        checked = await trust.checked(job)
        return partial(rights.may_read, checked.account_id) if checked.foreign else None

    async def derive(job: ClaimedJob) -> dict[str, object]:
        return await deriving.run(job.id.dataset_id, may_read=await may_read(job))

    async def verify(job: ClaimedJob) -> dict[str, object]:
        async with told_progress(partial(catalog.jobs.tell_progress, job)) as progress:
            return await verifying.run(job.id.dataset_id, may_read=await may_read(job), progress=progress)

    async def promote(job: ClaimedJob) -> dict[str, object]:
        async with told_progress(partial(catalog.jobs.tell_progress, job)) as progress:
            return await promoting.run(job.id.dataset_id, progress=progress)

    return {POLL: poll, TRANSFORM: derive, VERIFY: verify, PROMOTE: promote}


def _client(settings: Settings) -> WorkerClient:
    options = settings.spark_worker_options
    return WorkerClient(settings.spark_worker_place, options, say=lambda what: LOG.info("%s", what))


def _polling(
    settings: Settings, repository: DatasetRepository, client: WorkerClient, allowed: Sequence[str]
) -> PollJob:
    variables = allowed_variables([*settings.source_variables, *allowed])
    own, foreign = [PreprocessElsewhere(each, settings.engines_elsewhere) for each in (client, ForeignEngine(settings))]
    return PollJob(repository, own, foreign, fetch_options(settings, variables), lambda: now_or(None))
