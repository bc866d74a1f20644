"""Looks where heads are, for jobs that follow changes, and which datasets are gone, for their schedules to end.

Whoever moves a head here tells of it; heads are moved by other programs too, and word of a move may be lost with the
process that had it. So the worker looks at all that is watched now and then: one small request a dataset.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from catalog.catalog import Catalog
from catalog.facts_refresh import refresh_facts
from catalog.jobs import KINDS, SETTLE_S, ClaimedJob, JobId
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, OdfError
from opendatafabric.multihash import Multihash
from pipeline.inputs import input_ids
from storage.repositories import DatasetRepository
from verify.worker import JobKind

LOG: Final = logging.getLogger("odf.worker")
LOOK_EVERY_S: Final = 15.0
"""What nobody told of is found after so long."""


class Lookout:
    """Between the datasets of a repository and the jobs of a catalog. Changes within ``settle_s`` make one run."""

    def __init__(self, repository: DatasetRepository, catalog: Catalog, *, settle_s: float = SETTLE_S) -> None:
        self._settle_s = settle_s
        self._repository, self._watches, self._schedules = repository, catalog.watches, catalog.schedules
        self._facts = catalog.dataset_facts

    def around(self, run: JobKind) -> JobKind:
        """The same job; what it watches is noted before, whom its result concerns is told afterwards."""

        async def watched(job: ClaimedJob) -> Mapping[str, Any]:
            await self._begin(job)
            try:
                return await run(job)
            finally:
                await self._tell(job.id.dataset_id, by=job.id)

        return watched

    async def look(self) -> None:
        """Tell of every head that is not the one that was seen last."""
        for dataset_id, seen in (await self._watches.watched()).items():
            head = await self._head(dataset_id)
            if seen != {None if head is None else str(head)}:
                await self._watches.moved(dataset_id, head, settle_s=self._settle_s)

    async def look_for_ever(self, *, every_s: float = LOOK_EVERY_S) -> None:
        """Again and again; what is gone, at the start."""
        first: tuple[Callable[[], Awaitable[None]], ...] = (self.forget_gone,)
        while True:
            for look in (*first, self.look):
                try:
                    await look()
                except OdfError as error:
                    LOG.warning("datasets cannot be looked at: %s", error)
            first = ()
            await asyncio.sleep(every_s)

    async def forget_gone(self) -> None:
        """End every schedule whose dataset is no more."""
        for kind in KINDS:
            for scheduled in await self._schedules.list(kind):
                await self._is_gone(scheduled.id.dataset_id)

    async def _begin(self, job: ClaimedJob) -> None:
        dataset_id = job.id.dataset_id
        if await self._is_gone(dataset_id):
            raise DatasetNotFound(f"dataset {dataset_id} is gone, and its schedule with it")
        if job.on_change:
            found = (await self._repository.find(dataset_id)).dataset
            watched = {dataset_id, *await input_ids(found)}
            await self._watches.set(job.id, {each: await self._head(each) for each in watched})

    async def _tell(self, dataset_id: DatasetId, *, by: JobId) -> None:
        try:
            head = await self._head(dataset_id)
            await self._watches.moved(dataset_id, head, by=by, settle_s=self._settle_s)
            await refresh_facts(self._facts, dataset_id, (await self._repository.find(dataset_id)).dataset)
        except OdfError as error:  # it is found out later
            LOG.warning("word of a head is lost: %s", error)

    async def _head(self, dataset_id: DatasetId) -> Multihash | None:
        try:
            return await (await self._repository.find(dataset_id)).dataset.head()
        except DatasetNotFound:
            return None

    async def _is_gone(self, dataset_id: DatasetId) -> bool:
        """Then nothing is to be done for it any more."""
        try:
            await self._repository.find(dataset_id)
        except DatasetNotFound:
            await self._repository.check()  # a disk that is away takes no schedules along
            if await self._schedules.forget(dataset_id):
                LOG.warning("dataset %s is gone: its schedules end", dataset_id)
            return True
        return False
