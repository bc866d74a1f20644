"""Verifying as a job that nobody watches: a report that is kept, the verdict and the first finding as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opendatafabric.did import DatasetId
from pipeline.engine_contract.elsewhere import NONE_ELSEWHERE, EnginesElsewhere
from pipeline.ingest import Engine
from pipeline.inputs import MayRead, readable
from pipeline.transform.input_chains import inputs_in
from storage.progress import Progress, silent
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry
from verify.integrity import EVERYTHING, Extent
from verify.proved_notes import ProvedNotes
from verify.recording import Recorded, Recorder
from verify.redaction import without_values
from verify.replay import OtherVersions, Replay
from verify.report import Severity
from verify.report_room import ReportRoom


@dataclass(frozen=True, slots=True)
class VerifyJob:
    """Verifies datasets of a repository. ``engine`` runs queries of strangers in a sandbox or not at all; engines that
    are ``elsewhere`` are asked instead. ``other_versions`` are as in ``Replay``."""

    repository: DatasetRepository
    engine: Engine
    room: ReportRoom
    elsewhere: EnginesElsewhere = NONE_ELSEWHERE
    other_versions: OtherVersions = field(default_factory=dict)
    notes_folder: Path | None = None
    """Where a run notes what it has proved, for the next one to go on if it is broken off."""

    async def run(
        self, dataset_id: DatasetId, *, may_read: MayRead | None = None, progress: Progress = silent
    ) -> dict[str, Any]:
        """The verdict, and what was looked at. A dataset that is not valid is an outcome, not a failure of the job.

        ``may_read`` says which inputs are for the stranger who wanted it.

        Raises:
            DatasetNotFound: it is not here.
            AccessDenied, StorageError: the report cannot be kept, or not be signed.
        """
        entry = await self.repository.find(dataset_id)
        find = inputs_in(self.repository)
        replay = Replay(
            find if may_read is None else readable(find, may_read),
            self.engine,
            elsewhere=self.elsewhere,
            other_versions=self.other_versions,
        )
        recorder = Recorder(replay, self.room, may_read=may_read)
        extent = self._extent(entry)
        recorded = await recorder.verified(entry.dataset, str(entry.alias), progress=progress, extent=extent)
        if recorded.not_kept is not None:
            raise recorded.not_kept
        return outcome_of(recorded)

    def _extent(self, entry: DatasetEntry) -> Extent:
        if self.notes_folder is None:
            return EVERYTHING
        return Extent(notes=ProvedNotes(self.notes_folder, self.repository.address_of(entry)))


def outcome_of(recorded: Recorded) -> dict[str, Any]:
    """A report in a few values; ``finding`` is the first one that weighs most, told so that every reader may see it."""
    report, weights = recorded.report, list(Severity)
    heaviest = min(report.findings, key=lambda finding: weights.index(finding.severity), default=None)
    return {
        "verdict": report.verdict.value,
        "report": None if recorded.hash is None else str(recorded.hash),
        "signer": recorded.signer,
        "head": None if report.head is None else str(report.head),
        "blocks": report.counts.blocks,
        "records": report.counts.records,
        "steps": 0 if report.steps is None else len(report.steps),
        "findings": len(report.findings) + report.omitted,
        "finding": None if heaviest is None else next(without_values(heaviest).as_lines()),
    }
