"""What a prefix of a chain establishes: everything the rules need to judge the next block, and nothing more.

A state is immutable and is extended block by block in constant time, so that a chain of any length is checked in one
pass without keeping its blocks. It says what *is*, not what is allowed: ``apply`` checks nothing, ``chain/rules`` does.
An event that this version cannot interpret stands in its place as ``UnknownEvent``; rules that would need its contents
let the next block pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, get_args

from opendatafabric.chain.push_sources import PushSources
from opendatafabric.instant import Instant
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.events import (
    AddData,
    AddPushSource,
    DataEvent,
    ExecuteTransform,
    MetadataEvent,
    Seed,
    SetDataSchema,
    SetPollingSource,
    SetTransform,
    SetVocab,
    UnknownEvent,
)
from opendatafabric.multihash import Multihash

_FIELDS: Final[dict[type, tuple[str, ...]]] = {
    Seed: ("seed",),
    AddData: ("data", "add_data"),
    ExecuteTransform: ("data", "execute_transform"),
    SetDataSchema: ("data_schema",),
    SetVocab: ("vocab",),
    SetTransform: ("transform",),
    SetPollingSource: ("polling_source",),
    AddPushSource: ("push_source",),
}
"""Which fields of the state an event of that kind replaces."""

_FIELDS_BY_TYPE_ID: Final = {
    type_id: _FIELDS[kind] for type_id, kind in enumerate(get_args(MetadataEvent), start=1) if kind in _FIELDS
}


@dataclass(frozen=True, slots=True)
class ChainState:
    """The chain up to ``head``. The fields named after events hold the nearest one of their kind, seen from there."""

    head: Multihash | None = None
    sequence_number: int = -1
    """Number of the block at ``head``; -1 before the first."""
    system_time: Instant | None = None
    seed: Seed | UnknownEvent | None = None
    data: DataEvent | UnknownEvent | None = None
    """The nearest data block of either kind."""
    add_data: AddData | UnknownEvent | None = None
    execute_transform: ExecuteTransform | UnknownEvent | None = None
    data_schema: SetDataSchema | UnknownEvent | None = None
    vocab: SetVocab | UnknownEvent | None = None
    transform: SetTransform | UnknownEvent | None = None
    polling_source: SetPollingSource | UnknownEvent | None = None
    push_sources: PushSources = field(default_factory=PushSources)
    push_source: AddPushSource | UnknownEvent | None = None
    """The nearest AddPushSource of any name."""

    @staticmethod
    def empty() -> ChainState:
        """Before the first block."""
        return _EMPTY

    @staticmethod
    def unread_up_to(head: Multihash, sequence_number: int) -> ChainState:
        """A chain of which only the end is known: to go on behind a block that could not be read."""
        unread = UnknownEvent(type_id=0, reason="the blocks before were not read")
        nearest: dict[str, Any] = {name: unread for names in _FIELDS.values() for name in names}
        return ChainState(head, sequence_number, **nearest)

    @property
    def block_count(self) -> int:
        return self.sequence_number + 1

    @property
    def last_offset(self) -> int | None:
        """Highest offset in the dataset, ``None`` when it has no records (or that cannot be told)."""
        data = self.data
        if data is None or isinstance(data, UnknownEvent):
            return None
        return data.prev_offset if data.new_data is None else data.new_data.offset_interval.end

    @property
    def watermark(self) -> Instant | None:
        """The watermark of the nearest data block."""
        return None if self.data is None or isinstance(self.data, UnknownEvent) else self.data.new_watermark

    def apply(self, block: HashedBlock) -> ChainState:
        """The state after ``block``, whatever it is."""
        return self.apply_block(block.hash, block.block)

    def apply_block(self, block_hash: Multihash, block: MetadataBlock) -> ChainState:
        """The same for a block whose bytes are elsewhere."""
        event = block.event
        changes: dict[str, Any] = dict.fromkeys(_fields_of(event), event)
        if isinstance(event, AddPushSource):
            changes["push_sources"] = self.push_sources.with_source(event)
        return replace(
            self,
            head=block_hash,
            sequence_number=block.sequence_number,
            system_time=block.system_time,
            **changes,
        )


def _fields_of(event: MetadataEvent | UnknownEvent) -> tuple[str, ...]:
    if isinstance(event, UnknownEvent):
        return _FIELDS_BY_TYPE_ID.get(event.type_id, ())
    return _FIELDS.get(type(event), ())


_EMPTY: Final = ChainState()
