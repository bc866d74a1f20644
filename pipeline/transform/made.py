"""What an engine made of a step, wherever it runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from opendatafabric.instant import Instant
from opendatafabric.metadata.events import ExecuteTransform
from pipeline.commit import PlannedCommit, Position, planned_commit
from pipeline.ingest_request import IngestAnswer


@dataclass(frozen=True, slots=True)
class MadeStep:
    """``event`` is what the next block says, if there is one; ``made`` and ``checkpoint`` the files it names.

    ``watermark`` is the one after the step, also where there is nothing that a block may say.
    """

    answer: IngestAnswer
    event: ExecuteTransform | None
    watermark: Instant | None
    made: Path
    checkpoint: Path | None = None

    def planned(self, position: Position, system_time: Instant) -> PlannedCommit:
        """What is to be appended to the dataset at ``position``."""
        return planned_commit(
            position,
            self.answer,
            self.event,
            made=self.made,
            system_time=system_time,
            checkpoint=self.checkpoint,
        )
