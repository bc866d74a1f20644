"""What an engine is asked to compute of the inputs of a derivative, as plain values for a message.

Nothing here imports an engine. The answer is the same as that to an ingest.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from opendatafabric.codec.yaml_codec import read_event_manifest, write_event_manifest
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import SetDataSchema, SetTransform
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.metadata.transform import SqlQueryStep
from pipeline.transform.input_block import InputBlock, instant_or_none

ENGINES: Final = ("datafusion", "spark")
"""Those that transforms can name, in any case."""


@dataclass(frozen=True, slots=True)
class GivenInput:
    """The new records of an input: those of ``slices`` (in the order of the chain) that lie in ``interval``.

    ``blocks`` brought them; who knows no chains leaves them out.
    """

    alias: str
    schema: SetDataSchema
    vocabulary: DatasetVocabulary
    slices: tuple[Path, ...] = ()
    interval: OffsetInterval | None = None
    blocks: tuple[InputBlock, ...] = ()

    def to_message(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "alias": self.alias,
            "schema": write_event_manifest(self.schema),
            "vocabulary": asdict(self.vocabulary),
            "slices": [str(path) for path in self.slices],
            "interval": None if self.interval is None else [self.interval.start, self.interval.end],
            "blocks": [each.to_message() for each in self.blocks],
        }

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> GivenInput:
        """What ``to_message`` gave."""
        return cls(
            message["alias"],
            _schema(message["schema"]),
            DatasetVocabulary(**message["vocabulary"]),
            tuple(map(Path, message["slices"])),
            None if message["interval"] is None else OffsetInterval(*message["interval"]),
            tuple(map(InputBlock.from_message, message["blocks"])),
        )


@dataclass(frozen=True, slots=True)
class Memory:
    """What a query that remembers records goes by: the watermark of the derivative before and after the step.

    ``checkpoint`` is what the last step left; the next one is to be written to ``made``, which does not exist.
    """

    made: Path
    checkpoint: Path | None = None
    watermark_before: Instant | None = None
    watermark: Instant | None = None

    def to_message(self) -> dict[str, Any]:
        """As JSON values."""
        values = {
            "made": self.made,
            "checkpoint": self.checkpoint,
            "watermark_before": self.watermark_before,
            "watermark": self.watermark,
        }
        return {name: None if value is None else str(value) for name, value in values.items()}

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> Memory:
        """What ``to_message`` gave."""
        checkpoint = message["checkpoint"]
        return cls(
            Path(message["made"]),
            None if checkpoint is None else Path(checkpoint),
            instant_or_none(message["watermark_before"]),
            instant_or_none(message["watermark"]),
        )


@dataclass(frozen=True, slots=True)
class TransformRequest:
    """One step of a derivative; its slice is to be written to ``made``, which does not exist.

    Without a ``memory`` nothing can be remembered from step to step.
    """

    transform: SetTransform
    inputs: tuple[GivenInput, ...]
    made: Path
    system_time: Instant
    vocabulary: DatasetVocabulary
    schema: SetDataSchema | None
    next_offset: int
    memory: Memory | None = None

    @property
    def engine(self) -> str:
        """The name of the engine, in lower case."""
        return self.transform.transform.engine.lower()

    @property
    def steps(self) -> tuple[SqlQueryStep, ...]:
        """The queries; the last one gives the result."""
        sql = self.transform.transform
        return sql.queries or (SqlQueryStep(query=sql.query or ""),)

    def to_message(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "transform": write_event_manifest(self.transform),
            "inputs": [each.to_message() for each in self.inputs],
            "made": str(self.made),
            "system_time": str(self.system_time),
            "vocabulary": asdict(self.vocabulary),
            "schema": None if self.schema is None else write_event_manifest(self.schema),
            "next_offset": self.next_offset,
            "memory": None if self.memory is None else self.memory.to_message(),
        }

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> TransformRequest:
        """What ``to_message`` gave."""
        transform = read_event_manifest(message["transform"])
        assert isinstance(transform, SetTransform)
        return cls(
            transform=transform,
            inputs=tuple(map(GivenInput.from_message, message["inputs"])),
            made=Path(message["made"]),
            system_time=Instant.from_rfc3339(message["system_time"]),
            vocabulary=DatasetVocabulary(**message["vocabulary"]),
            schema=None if message["schema"] is None else _schema(message["schema"]),
            next_offset=message["next_offset"],
            memory=None if message["memory"] is None else Memory.from_message(message["memory"]),
        )


def _schema(manifest: str) -> SetDataSchema:
    event = read_event_manifest(manifest)
    assert isinstance(event, SetDataSchema)
    return event
