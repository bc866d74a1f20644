"""What an engine made of a step, wherever it runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from opendatafabric.instant import Instant
from opendatafabric.metadata.events import ExecuteTransform
from opendatafabric.metadata.slices import Checkpoint
from pipeline.commit import PlannedCommit, Position, planned_commit
from pipeline.engine_records import MadeBy
from pipeline.ingest_request import IngestAnswer
from storage.records.slice_files import hash_of_file


@dataclass(frozen=True, slots=True)
class MadeStep:
    """``event`` is what the next block says, if there is one.

    ``watermark`` is the one after the step, also where there is nothing that a block may say. The files that a block
    names are ``made``, if the step has records, and ``checkpoint``, if there is anything to be remembered. ``made_by``
    says what computed it.
    """

    answer: IngestAnswer
    event: ExecuteTransform | None
    watermark: Instant | None
    made: Path
    checkpoint: Path
    made_by: MadeBy

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


def checkpoint_in(file: Path) -> Checkpoint | None:
    """As a block says it; without a file there is nothing to be remembered."""
    return Checkpoint(hash_of_file(file), file.stat().st_size) if file.exists() else None
