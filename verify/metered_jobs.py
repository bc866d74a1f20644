"""Jobs and quotas: who has no room left gets nothing more, and what a job brought is measured soon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catalog.amounts import Amounts, Limits
from catalog.catalog import Catalog
from catalog.job_kinds import POLL, TRANSFORM
from catalog.jobs import ClaimedJob
from verify.worker import JobKind

_MAKE_DATA = {POLL, TRANSFORM}


def metered(run: JobKind, catalog: Catalog, limits: Limits) -> JobKind:
    """``run``, which fails with ``QuotaExceeded`` where nothing more may come."""

    async def with_room(job: ClaimedJob) -> Mapping[str, Any]:
        if job.id.kind not in _MAKE_DATA:
            return await run(job)
        record = await catalog.datasets.find(job.id.dataset_id)
        if record is not None:
            await catalog.quotas.check_room(job.id.dataset_id, record.owner_id, limits)
        try:
            return await run(job)
        finally:
            await catalog.quotas.add(job.id.dataset_id, Amounts(), dirty=True)

    return with_room
