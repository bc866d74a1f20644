"""What a block commits to outside the chain: data slices, checkpoints, source state, attributes."""

from __future__ import annotations

from dataclasses import dataclass

from opendatafabric.metadata.attributes import ExtraAttributes
from opendatafabric.metadata.wire_types import U64
from opendatafabric.multihash import Multihash

__all__ = ["Checkpoint", "DataSlice", "ExtraAttributes", "OffsetInterval", "SourceState"]


@dataclass(frozen=True, slots=True)
class OffsetInterval:
    """Records by offset, both ends inclusive."""

    start: U64
    end: U64

    def __len__(self) -> int:
        return self.end - self.start + 1


@dataclass(frozen=True, slots=True)
class DataSlice:
    """One Parquet file of records; ``size`` in bytes."""

    logical_hash: Multihash
    physical_hash: Multihash
    offset_interval: OffsetInterval
    size: U64


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """State that an engine or source left behind; ``size`` in bytes."""

    physical_hash: Multihash
    size: U64


@dataclass(frozen=True, slots=True)
class SourceState:
    """Where a source left off, so that the next poll can continue there."""

    source_name: str
    kind: str
    value: str
