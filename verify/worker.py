"""The worker: claims due jobs of the catalog and runs them, a few at a time, until it is told to stop.

A job is held under a lease that is renewed while it runs. Told to stop, the worker takes no more and finishes what it
has begun; what takes too long is given back, and is somebody else's at once. A worker that is killed is replaced when
its leases end. What a kind of job does is given to it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from asyncio import Task
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from catalog.jobs import ClaimedJob, Jobs
from opendatafabric.errors import OdfError
from storage.under_lease import under_lease

LOG: Final = logging.getLogger("odf.worker")
LEASE_S: Final = 60.0
"""A worker that died is replaced after so long."""

AT_ONCE: Final = 2
"""While one job waits for its source, another one may compute."""

_LOOK_EVERY_S: Final = 1.0
_ERROR_CHARS_MAX: Final = 2_000

JobKind = Callable[[ClaimedJob], Awaitable[Mapping[str, Any]]]
"""Does a job; says as plain values what came of it."""


class JobWorker:
    """Runs jobs of the ``kinds`` it knows, each for at most ``job_s_max``. ``redacted`` takes secrets out of what is
    kept of errors."""

    def __init__(
        self,
        jobs: Jobs,
        kinds: Mapping[str, JobKind],
        *,
        redacted: Callable[[str], str] = str,
        lease_s: float = LEASE_S,
        look_every_s: float = _LOOK_EVERY_S,
        job_s_max: float | None = None,
    ) -> None:
        self._jobs, self._kinds, self._redacted = jobs, kinds, redacted
        self._lease_s, self._look_every_s = lease_s, look_every_s
        self._job_s_max = job_s_max
        self._owner = secrets.token_hex(8)

    async def run_until(self, stop: asyncio.Event, *, grace_s: float) -> None:
        """Run what is due until ``stop``; what has begun may take ``grace_s`` longer."""
        stopping = asyncio.create_task(stop.wait())
        running: set[Task[None]] = set()
        try:
            while not stop.is_set():
                job = await self._claimed() if len(running) < AT_ONCE else None
                if job is not None:
                    running.add(asyncio.create_task(self._run(job)))
                    continue
                wait_for = {stopping, *running}
                await asyncio.wait(wait_for, timeout=self._look_every_s, return_when=asyncio.FIRST_COMPLETED)
                running = {task for task in running if not task.done()}
            if running:
                await asyncio.wait(running, timeout=grace_s)
        finally:
            for task in (stopping, *running):
                task.cancel()
            await asyncio.gather(stopping, *running, return_exceptions=True)

    async def run_all_due(self) -> None:
        """Run what is due, one job after another."""
        while await self.run_due():
            pass

    async def run_due(self) -> bool:
        """Run one job that is due, if there is one."""
        job = await self._claimed()
        if job is not None:
            await self._run(job)
        return job is not None

    async def _claimed(self) -> ClaimedJob | None:
        try:
            return await self._jobs.claim_due(self._kinds.keys(), self._owner, lease_s=self._lease_s)
        except OdfError as error:
            LOG.warning("jobs cannot be looked for: %s", error)
            return None

    async def _run(self, job: ClaimedJob) -> None:
        """Do a job and note how it ended; given back when that is broken off, let go when it is somebody else's."""
        LOG.info("job begins", extra=_fields(job))
        try:
            async with under_lease(self._done(job), self._keep_lease(job)) as done:
                if done is None:
                    LOG.warning("somebody else does the job by now", extra=_fields(job))
                else:
                    await self._note(job, *done.result())
        except asyncio.CancelledError:
            LOG.info("job is given back", extra=_fields(job))
            with suppress(OdfError):
                await asyncio.shield(self._jobs.release(job))
            raise

    async def _done(self, job: ClaimedJob) -> tuple[str | None, Mapping[str, Any]]:
        """What went wrong, and what came of it."""
        limit = asyncio.timeout(self._job_s_max)
        try:
            async with limit:
                return None, await self._kinds[job.id.kind](job)
        except OdfError as failure:
            return self._redacted(failure.message)[:_ERROR_CHARS_MAX], {}
        except Exception as failure:  # whatever a job raises must not end the worker
            if limit.expired():
                return f"it took longer than {self._job_s_max} s and was given up", {}
            LOG.error("job crashed", exc_info=failure, extra=_fields(job))
            return f"it crashed: {type(failure).__name__}", {}

    async def _note(self, job: ClaimedJob, error: str | None, outcome: Mapping[str, Any]) -> None:
        if error is None:
            LOG.info("job ended", extra=_fields(job, **outcome))
        else:
            LOG.warning("job failed", extra=_fields(job, error=error))
        try:
            await self._jobs.finish(job, error=error, outcome=outcome)
        except OdfError as failure:  # its lease will end, and it is done again
            LOG.warning("the end of a job cannot be noted: %s", failure, extra=_fields(job))

    async def _keep_lease(self, job: ClaimedJob) -> None:
        """Until it is lost."""
        kept = True
        while kept:
            await asyncio.sleep(self._lease_s / 3)
            with suppress(OdfError):
                kept = await self._jobs.renew(job, lease_s=self._lease_s)


def _fields(job: ClaimedJob, **more: Any) -> dict[str, Any]:
    return {"fields": {"job": job.id.kind, "dataset": str(job.id.dataset_id), **more}}
