"""Deriving as a job that nobody watches: what came of it as plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opendatafabric.did import DatasetId
from opendatafabric.instant import Instant
from pipeline.commit import counted
from pipeline.engine_contract.elsewhere import NONE_ELSEWHERE, EnginesElsewhere
from pipeline.ingest import Engine
from pipeline.inputs import MayRead, readable
from pipeline.transform.input_chains import inputs_in
from pipeline.transform.run import all_steps
from storage.repositories import DatasetRepository


@dataclass(frozen=True, slots=True)
class DeriveJob:
    """Brings derivatives of a repository up to date. ``foreign_engine`` runs queries of strangers in a sandbox or not
    at all. Engines that are ``elsewhere`` are asked instead."""

    repository: DatasetRepository
    engine: Engine
    foreign_engine: Engine
    clock: Callable[[], Instant]
    elsewhere: EnginesElsewhere = NONE_ELSEWHERE

    async def run(self, dataset_id: DatasetId, *, may_read: MayRead | None) -> dict[str, Any]:
        """Make steps until nothing is new; how many blocks and records that made.

        ``may_read`` says which inputs are for the stranger who wanted it, ``None`` that it was no stranger.

        Raises:
            DatasetNotFound: it is not here, or one of its inputs.
            OdfError: as ``transform``. Steps that were made before stay.
        """
        entry = await self.repository.find(dataset_id)
        engine = self.engine if may_read is None else self.foreign_engine
        find = inputs_in(self.repository)
        steps = all_steps(
            entry.dataset,
            find if may_read is None else readable(find, may_read),
            engine,
            clock=self.clock,
            elsewhere=self.elsewhere,
        )
        return counted([outcome async for outcome in steps])
