"""What an engine is asked to make of the bytes of a source, and what it answers: plain values for a message.

Nothing here imports an engine: whoever commits data speaks to it in these words.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from opendatafabric.codec.yaml_codec import read_event_manifest, write_event_manifest
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import AddPushSource, SetDataSchema, SetPollingSource
from opendatafabric.metadata.slices import Checkpoint, DataSlice, OffsetInterval
from opendatafabric.multihash import Multihash

Source = AddPushSource | SetPollingSource
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

SPOILED: Final = {"spoiled": True}
"""The answer where the runs of a request are damaged: ask again without them, with all slices."""


@dataclass(frozen=True, slots=True)
class HistoryFiles:
    """What a dataset holds, for strategies that compare with it, both the oldest first.

    ``runs`` are those of a projection, ``slices`` came since. New runs are to be written to the folder ``made``.
    """

    made: Path
    runs: tuple[Path, ...] = ()
    slices: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """``file`` is what the source gave, ``history`` what the dataset has, if the strategy compares with it.

    ``event_time`` is for records that have none. The new slice is to be written to ``made``, which does not exist. A
    file that ``is_preprocessed`` has records as the query of the source leaves them.
    """

    source: Source
    file: Path
    made: Path
    system_time: Instant
    event_time: Instant
    vocabulary: DatasetVocabulary
    schema: SetDataSchema | None
    next_offset: int
    history: HistoryFiles
    is_preprocessed: bool = False

    def to_message(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "source": write_event_manifest(self.source),
            "file": str(self.file),
            "made": str(self.made),
            "system_time": str(self.system_time),
            "event_time": str(self.event_time),
            "vocabulary": asdict(self.vocabulary),
            "schema": None if self.schema is None else write_event_manifest(self.schema),
            "next_offset": self.next_offset,
            "history_made": str(self.history.made),
            "runs": [str(path) for path in self.history.runs],
            "slices": [str(path) for path in self.history.slices],
            "is_preprocessed": self.is_preprocessed,
        }

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> IngestRequest:
        """What ``to_message`` gave."""
        source, schema = read_event_manifest(message["source"]), message["schema"]
        declared = None if schema is None else read_event_manifest(schema)
        assert isinstance(source, Source)
        assert declared is None or isinstance(declared, SetDataSchema)
        return cls(
            source=source,
            file=Path(message["file"]),
            made=Path(message["made"]),
            system_time=Instant.from_rfc3339(message["system_time"]),
            event_time=Instant.from_rfc3339(message["event_time"]),
            vocabulary=DatasetVocabulary(**message["vocabulary"]),
            schema=declared,
            next_offset=message["next_offset"],
            history=HistoryFiles(
                Path(message["history_made"]), tuple(map(Path, message["runs"])), tuple(map(Path, message["slices"]))
            ),
            is_preprocessed=message["is_preprocessed"],
        )


@dataclass(frozen=True, slots=True)
class RowCounts:
    """``read`` from the source, and what was made of them."""

    read: int = 0
    appended: int = 0
    retracted: int = 0
    corrected: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(
            self.read + other.read,
            self.appended + other.appended,
            self.retracted + other.retracted,
            self.corrected + other.corrected,
        )


@dataclass(frozen=True, slots=True)
class IngestAnswer:
    """What to commit. ``schema`` is that of a first write; ``data`` and ``last_event_time`` need records.

    ``runs`` are the projection of all records, the new ones included, by the names of their files, which were given or
    are new; ``None`` if there is none. ``checkpoint`` is what a transform has to remember.
    """

    rows: RowCounts
    schema: SetDataSchema | None = None
    data: DataSlice | None = None
    last_event_time: Instant | None = None
    runs: tuple[str, ...] | None = None
    checkpoint: Checkpoint | None = None

    def to_message(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "rows": asdict(self.rows),
            "schema": None if self.schema is None else write_event_manifest(self.schema),
            "data": None if self.data is None else _slice_to_message(self.data),
            "last_event_time": None if self.last_event_time is None else str(self.last_event_time),
            "runs": None if self.runs is None else [*self.runs],
            "checkpoint": None if self.checkpoint is None else _checkpoint_to_message(self.checkpoint),
        }

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> IngestAnswer:
        """What ``to_message`` gave."""
        schema = None if message["schema"] is None else read_event_manifest(message["schema"])
        assert schema is None or isinstance(schema, SetDataSchema)
        last = message["last_event_time"]
        return cls(
            rows=RowCounts(**message["rows"]),
            schema=schema,
            data=None if message["data"] is None else _slice_from_message(message["data"]),
            last_event_time=None if last is None else Instant.from_rfc3339(last),
            runs=None if message["runs"] is None else tuple(map(str, message["runs"])),
            checkpoint=None if message["checkpoint"] is None else _checkpoint_from_message(message["checkpoint"]),
        )


def milliseconds_of(moment: Instant) -> int:
    """Since 1970, cut below."""
    since = moment.cut_to_milliseconds().to_datetime() - _EPOCH
    return since.days * 86_400_000 + since.seconds * 1_000 + since.microseconds // 1_000


def instant_of(moment: datetime | None) -> Instant | None:
    """The same for times that may be missing."""
    return None if moment is None else Instant.from_datetime(moment)


def _slice_to_message(data: DataSlice) -> dict[str, Any]:
    return {
        "logical_hash": str(data.logical_hash),
        "physical_hash": str(data.physical_hash),
        "start": data.offset_interval.start,
        "end": data.offset_interval.end,
        "size": data.size,
    }


def _slice_from_message(message: dict[str, Any]) -> DataSlice:
    return DataSlice(
        Multihash.from_text(message["logical_hash"]),
        Multihash.from_text(message["physical_hash"]),
        OffsetInterval(message["start"], message["end"]),
        message["size"],
    )


def _checkpoint_to_message(checkpoint: Checkpoint) -> dict[str, Any]:
    return {"physical_hash": str(checkpoint.physical_hash), "size": checkpoint.size}


def _checkpoint_from_message(message: dict[str, Any]) -> Checkpoint:
    return Checkpoint(Multihash.from_text(message["physical_hash"]), message["size"])
