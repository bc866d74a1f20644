"""Polling as a job that nobody watches: what came of it as plain values, and less allowed for strangers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opendatafabric.did import DatasetId
from opendatafabric.instant import Instant
from pipeline.commit import counted
from pipeline.fetch import FetchOptions
from pipeline.ingest import Engine
from pipeline.poll import poll
from storage.repositories import DatasetRepository


@dataclass(frozen=True, slots=True)
class PollJob:
    """Polls datasets of a repository. ``options`` are what the operator allows his own sources, and
    ``foreign_engine`` runs queries of strangers in a sandbox or not at all."""

    repository: DatasetRepository
    engine: Engine
    foreign_engine: Engine
    options: FetchOptions
    clock: Callable[[], Instant]

    async def run(self, dataset_id: DatasetId, *, foreign: bool) -> dict[str, Any]:
        """Ask the source until it has nothing more; how many blocks and records that made.

        Raises:
            DatasetNotFound: it is not here.
            OdfError: as ``poll``. Blocks that were made before stay.
        """
        entry = await self.repository.find(dataset_id)
        engine = self.foreign_engine if foreign else self.engine
        options = FetchOptions(private_places=False) if foreign else self.options
        outcomes = [each async for each in poll(entry.dataset, engine, clock=self.clock, options=options)]
        return counted(outcomes)
