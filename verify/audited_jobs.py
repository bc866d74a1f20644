"""Jobs in the audit log, each one that moved a head or refused to move it to what was staged, and in the reflog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catalog.audit import Audit
from catalog.catalog import Catalog
from catalog.jobs import ClaimedJob
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, OdfError
from opendatafabric.multihash import Multihash
from storage.leases import to_its_end
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry
from verify.promote_job import GateResult
from verify.worker import LOG, JobKind

_REFUSED = {GateResult.REJECTED.value, GateResult.HELD.value}


def audited(run: JobKind, repository: DatasetRepository, catalog: Catalog) -> JobKind:
    """``run``, with what came of it in the logs, also when it failed after a part of its work."""

    async def written_down(job: ClaimedJob) -> Mapping[str, Any]:
        before, outcome = await _head(repository, job.id.dataset_id), dict[str, Any]()
        try:
            outcome = dict(await run(job))
            return outcome
        finally:
            try:
                after = await _head(repository, job.id.dataset_id)
                await to_its_end(_write_down(repository, catalog.audit, job, (before, after), outcome))
                if after is not None and after != before:
                    moved = catalog.datasets.log_move(job.id.dataset_id, None, expected_head=before, new_head=after)
                    await to_its_end(moved)
            except OdfError as error:
                LOG.error("job %s is not in the audit log: %s", job.id.kind, error)

    return written_down


async def _write_down(
    repository: DatasetRepository,
    audit: Audit,
    job: ClaimedJob,
    heads: tuple[Multihash | None, Multihash | None],
    outcome: Mapping[str, Any],
) -> None:
    (before, after), result = heads, outcome.get("result")
    if after == before and result not in _REFUSED:
        return
    details = {
        "by": "worker",
        "dataset_id": str(job.id.dataset_id),
        "old_head": _text(before),
        "new_head": _text(after),
    }
    told = {name: outcome[name] for name in ("result", "finding") if outcome.get(name) is not None}
    entry = await _found(repository, job.id.dataset_id)
    await audit.append(f"job {job.id.kind}", "" if entry is None else str(entry.alias), {**details, **told})


async def _head(repository: DatasetRepository, dataset_id: DatasetId) -> Multihash | None:
    entry = await _found(repository, dataset_id)
    return None if entry is None else await entry.dataset.head()


def _text(head: Multihash | None) -> str | None:
    return None if head is None else str(head)


async def _found(repository: DatasetRepository, dataset_id: DatasetId) -> DatasetEntry | None:
    try:
        return await repository.find(dataset_id)
    except DatasetNotFound:
        return None
