"""The link of a chain, and the same with its hash and its exact bytes."""

from __future__ import annotations

from dataclasses import dataclass

from opendatafabric.instant import Instant
from opendatafabric.metadata.events import MetadataEvent, UnknownEvent
from opendatafabric.metadata.wire_types import U64
from opendatafabric.multihash import Multihash


@dataclass(frozen=True, slots=True)
class MetadataBlock:
    system_time: Instant
    prev_block_hash: Multihash | None
    sequence_number: U64
    event: MetadataEvent | UnknownEvent


@dataclass(frozen=True, slots=True)
class HashedBlock:
    """A block with the bytes it arrived in. Those are stored, served and hashed; ``block`` is only their reading."""

    hash: Multihash
    raw: bytes
    block: MetadataBlock
    has_newer_fields: bool = False
    """The bytes say more than ``block`` does: fields that a later version of the format added."""

    @property
    def event(self) -> MetadataEvent | UnknownEvent:
        return self.block.event

    @property
    def sequence_number(self) -> int:
        return self.block.sequence_number

    @property
    def prev_block_hash(self) -> Multihash | None:
        return self.block.prev_block_hash
