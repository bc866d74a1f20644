"""Verifying with a record of it: what was found, when, with what it was computed; kept, where there is room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError
from opendatafabric.multihash import Multihash
from pipeline.inputs import MayRead
from storage.dataset import Dataset
from storage.progress import Progress, silent
from verify.environment import environment
from verify.integrity import EVERYTHING, Extent
from verify.replay import Replay
from verify.replayed import StepVerdict
from verify.report import Report, Verdict
from verify.report_making import Known, Run, record_of
from verify.report_record import ReportRecord
from verify.report_room import ReportRoom
from verify.verification import verify_dataset

SPARK: Final = "spark"
_COMPUTED: Final = frozenset({StepVerdict.VALID, StepVerdict.MISMATCH})


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a run found, the document of it, and its name where it was kept."""

    report: Report
    record: ReportRecord
    hash: Multihash | None = None
    not_kept: OdfError | None = None
    """Why it could not be kept, or not be signed."""
    signer: str | None = None
    """Whose key has signed it, as ``did:key``."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Recorder:
    """Without a ``room`` nothing is kept; without a ``replay`` no transform is repeated.

    ``may_read`` says which inputs are for the stranger who wanted it: of others nothing is told.
    """

    replay: Replay | None
    room: ReportRoom | None
    now: Callable[[], datetime] = _utc_now
    may_read: MayRead | None = None

    async def verified(
        self, dataset: Dataset, alias: str | None, *, progress: Progress = silent, extent: Extent = EVERYTHING
    ) -> Recorded:
        """Check ``dataset``; errors as ``verify_dataset``. That a report cannot be kept is no failure. One on a part of
        a chain is not kept: it would pass for a verdict on the dataset."""
        started_at = self.now()
        report = await verify_dataset(dataset, self.replay, progress=progress, extent=extent)
        facts = environment(await self._engine_of(report))
        inputs, failure = await self._inputs(report)
        run = Run(alias, started_at, self.now(), facts, self.replay is not None, inputs, extent.since)
        record = record_of(report, run)
        if self.room is None or failure is not None or extent.since is not None:
            return Recorded(report, record, not_kept=failure)
        try:
            report_hash = await self.room.keep(dataset.writable_objects(), record)
            signer = None if report_hash is None else await self.room.sign(record)
        except OdfError as error:
            return Recorded(report, record, not_kept=error)
        return Recorded(report, record, report_hash, signer=signer)

    async def _inputs(self, report: Report) -> tuple[Mapping[DatasetId, Known], OdfError | None]:
        """What the last reports say of the inputs, or else what this run found; why there are no reports."""
        try:
            told = [each for each in report.inputs if self.may_read is None or await self.may_read(each)]
            before = {} if self.room is None else await self.room.known(told)
        except OdfError as error:
            return self._verdicts(), error
        newer = {each: known for each, known in self._verdicts().items() if known[0] is not before.get(each, known)[0]}
        return {**self._verdicts(), **before, **newer}, None

    def _verdicts(self) -> dict[DatasetId, Known]:
        found: Mapping[DatasetId, Verdict] = {} if self.replay is None else self.replay.verdicts
        return {dataset_id: (verdict, None) for dataset_id, verdict in found.items()}

    async def _engine_of(self, report: Report) -> Mapping[str, Any] | None:
        """What Spark is there, if it computed anything."""
        computed = any(step.verdict in _COMPUTED for step in report.steps or ())
        if self.replay is None or not computed or SPARK not in report.engines:
            return None
        try:
            return await self.replay.engine.run("describe", {})
        except OdfError:
            return None  # it has gone since: that says nothing of what it computed
