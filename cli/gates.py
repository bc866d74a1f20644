"""Gates before heads: who may be read to judge what is staged, and what a gate shows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from catalog.catalog import Catalog, open_catalog
from catalog.gates import Gate
from catalog.jobs import PROMOTE, JobId
from catalog.permissions import Rights
from cli.attesters import attester_of
from cli.catalogs import settings_for
from cli.datasets import opened_repository
from opendatafabric.block_ref import STAGING
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.did import DatasetId
from opendatafabric.names import AccountName
from pipeline.inputs import readable
from pipeline.transform.input_chains import inputs_in
from repo_server.config import Settings
from repo_server.ingesting import ForeignEngine, other_sparks
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry
from verify.promote_job import PromoteJob
from verify.promotion import forget_staged
from verify.replay import Replay
from verify.report_room import ReportRoom


def rights_in(settings: Settings, catalog: Catalog) -> Rights:
    """Who may read what, while nobody calls."""
    owner = AccountName(settings.default_account)
    return Rights(catalog.accounts, catalog.datasets, catalog.roles, owner, settings.default_visibility)


def promote_job(settings: Settings, repository: DatasetRepository, catalog: Catalog) -> PromoteJob:
    """Judges what is staged, over the inputs that the owner of the dataset may read."""
    rights, find, engine = rights_in(settings, catalog), inputs_in(repository), ForeignEngine(settings)

    async def owner_may_read(dataset_id: DatasetId, other: DatasetId) -> bool:
        record = await catalog.datasets.find(dataset_id)
        return await rights.may_read(None if record is None else record.owner_id, other)

    def replay_of(dataset_id: DatasetId) -> Replay:
        may_read = partial(owner_may_read, dataset_id)
        versions = {"spark": other_sparks(settings)}
        return Replay(readable(find, may_read), engine, elsewhere=settings.engines_elsewhere, other_versions=versions)

    room = ReportRoom(catalog.reports, settings.reports_kept, attester_of(settings, catalog), catalog.events)
    return PromoteJob(repository, catalog.gates, room, replay_of)


@dataclass(frozen=True, slots=True)
class GatedRepository:
    """A repository with its catalog."""

    settings: Settings
    repository: DatasetRepository
    catalog: Catalog

    async def find(self, ref: str) -> DatasetEntry:
        return await self.repository.find(parse_dataset_ref(ref))

    async def state(self, ref: str) -> dict[str, Any]:
        """The gate of a dataset, as plain values."""
        entry = await self.find(ref)
        gate, staged = await self.catalog.gates.find(entry.id), await entry.dataset.head(STAGING)
        last = await self.catalog.jobs.state(JobId(PROMOTE, entry.id))
        return {
            "dataset": str(entry.alias),
            "on": gate is not None,
            "replay": gate is not None and gate.replay,
            "staged": None if staged is None else str(staged),
            "lastOutcome": None if last is None or last.outcome is None else dict(last.outcome),
            "lastError": None if last is None else last.error,
        }

    async def set(self, ref: str, gate: Gate | None) -> None:
        """Have that gate; or none, and forget what is staged."""
        entry = await self.find(ref)
        if gate is not None:
            await self.catalog.gates.set(entry.id, gate)
            return
        await self.catalog.gates.remove(entry.id)
        await forget_staged(entry.dataset)

    def promoting(self) -> PromoteJob:
        """What judges and promotes."""
        return promote_job(self.settings, self.repository, self.catalog)


@asynccontextmanager
async def gated(repository: str) -> AsyncIterator[GatedRepository]:
    """The repository and its catalog; errors as ``settings_for`` and ``opened_repository``."""
    settings = settings_for(repository)
    async with open_catalog(settings.database_url) as catalog, opened_repository(repository) as opened:
        yield GatedRepository(settings, opened, catalog)
