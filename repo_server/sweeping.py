"""What expires goes away: abandoned uploads, first pushes that never ended, answers nobody needs, garbage."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from catalog.audit import Deed
from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError
from opendatafabric.multihash import Multihash
from repo_server.logs import SERVER
from repo_server.services import Services
from storage.collect_repository import collect_repository
from storage.local.objects import LocalObjectStore
from storage.share import share_objects
from storage.uploads import Uploads

_INTERVAL_S: Final = 600
_PACKS_UNUSED_S: Final = 7 * 86_400
"""An answer to a pull that nobody repeated for a week goes; so do those of datasets that were deleted."""
_DOWNLOADS_UNUSED_S: Final = 86_400


async def sweep_for_ever(services: Services) -> None:
    """Look every ten minutes for what has expired."""
    await _repeat(lambda: sweep(services), _INTERVAL_S, "sweeping")


async def collect_for_ever(services: Services) -> None:
    """Collect garbage as often as the settings say."""
    if services.settings.gc_interval_s:
        await _repeat(lambda: collect_garbage(services), services.settings.gc_interval_s, "garbage collection")


async def _repeat(job: Callable[[], Awaitable[None]], interval_s: float, name: str) -> None:
    """A failure is logged and tried again."""
    while True:
        await asyncio.sleep(interval_s)
        try:
            await job()
        except OdfError as error:
            SERVER.warning("%s failed: %s", name, error)


async def collect_garbage(services: Services) -> None:
    """Delete what no dataset needs; what is left and equal is stored once."""
    freed, grace_s, datasets = 0, services.settings.gc_grace_s, services.catalog.datasets
    since = services.now() - max(grace_s, services.settings.reflog_kept_s)

    async def replaced_of_late(dataset_id: DatasetId) -> Sequence[Multihash]:
        return await datasets.heads_until(dataset_id, since=since)

    async for each in collect_repository(services.repository, grace_s=grace_s, spared=replaced_of_late):
        freed += each.collected.freed_bytes
        if each.collected.refused is not None:
            SERVER.warning("dataset %s is damaged, run odf fsck: %s", each.name, each.collected.refused)
    if freed:
        SERVER.info("garbage collection freed %d bytes", freed)
        await services.audit.written(Deed("garbage-collected", "", {"by": "server", "bytes": freed}))
    await services.catalog.quotas.doubt_all()
    if services.settings.share_objects:
        shared = await share_objects(services.repository, grace_s=grace_s)
        if shared.count:
            SERVER.info("%d equal objects share their bytes from now on, %d bytes less", shared.count, shared.bytes)


async def sweep(services: Services) -> None:
    """Remove everything whose time is over."""
    now, settings = services.now(), services.settings
    async for entry in services.repository.iterate(include_pending=True):
        if isinstance(entry.dataset.objects, LocalObjectStore):
            await Uploads(entry.dataset.objects, lease_s=settings.upload_lease_s).sweep(now=now)
    await services.incoming.sweep(now=now)
    await services.catalog.ingest_plans.forget(older_than_s=settings.ingest_key_s)
    await services.catalog.repeats.clear()
    await services.catalog.events.clear(older_than_s=settings.events_kept_s)
    if services.packs is not None:
        await services.packs.sweep(unused_for_s=_PACKS_UNUSED_S, now=now)
    await services.lifecycle.finish_begun()
    await services.account_lifecycle.finish_begun()
    given_up = await services.lifecycle.expire()
    if given_up:
        SERVER.info("%d datasets that were deleted are gone for good", given_up)
    await services.queries.sweep(now=now)
    await services.downloads.sweep(unused_for_s=_DOWNLOADS_UNUSED_S, now=now)
    removed = await services.repository.sweep(unused_for_s=settings.pending_lease_s, now=now)
    if removed:
        SERVER.info("removed %d datasets whose first push never ended", len(removed))
        details = {"by": "server", "dataset_ids": [str(each) for each in removed]}
        await services.audit.written(Deed("unfinished-removed", "", details))
