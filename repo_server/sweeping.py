"""What expires goes away: uploads nobody continued, new datasets whose first push never ended, answers nobody needs."""

from __future__ import annotations

import asyncio
from typing import Final

from opendatafabric.errors import OdfError
from repo_server.logs import SERVER
from repo_server.services import Services
from storage.local.objects import LocalObjectStore
from storage.uploads import Uploads

_INTERVAL_S: Final = 600
_PACKS_UNUSED_S: Final = 7 * 86_400
"""An answer to a pull that nobody repeated for a week goes; so do those of datasets that were deleted."""


async def sweep_for_ever(services: Services) -> None:
    """Look every ten minutes; a failure is logged and tried again."""
    while True:
        await asyncio.sleep(_INTERVAL_S)
        try:
            await sweep(services)
        except OdfError as error:
            SERVER.warning("sweeping failed: %s", error)


async def sweep(services: Services) -> None:
    """Remove everything whose time is over."""
    now, settings = services.now(), services.settings
    async for entry in services.repository.iterate(include_pending=True):
        if isinstance(entry.dataset.objects, LocalObjectStore):
            await Uploads(entry.dataset.objects, lease_s=settings.upload_lease_s).sweep(now=now)
    if services.packs is not None:
        await services.packs.sweep(unused_for_s=_PACKS_UNUSED_S, now=now)
    removed = await services.repository.sweep(unused_for_s=settings.pending_lease_s, now=now)
    if removed:
        SERVER.info("removed %d datasets whose first push never ended", len(removed))
