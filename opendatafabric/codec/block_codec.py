"""Bytes ↔ MetadataBlock inside its manifest (spec: Metadata, Manifests).

A stored block is two FlatBuffers: the block, and a manifest whose content is the block's buffer. The block hash is over
the manifest's bytes. Bytes that arrive are kept; encoding is for blocks made here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from opendatafabric.codec.flatbuffers_read import (
    FlatBuffer,
    NewerContent,
    Table,
    read_bytes,
    read_instant,
    read_table,
    read_value,
    union_member,
)
from opendatafabric.codec.flatbuffers_write import write_table
from opendatafabric.codec.tables import UnionSpec, table_of
from opendatafabric.errors import LimitExceeded, MalformedBlock, MalformedIdentifier, UnsupportedVersion
from opendatafabric.instant import Instant
from opendatafabric.limits import BLOCK_BYTES_MAX
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.events import MetadataEvent, UnknownEvent
from opendatafabric.metadata.manifest import Manifest
from opendatafabric.multihash import Multihash, physical_hash

BLOCK_KIND: Final = 0x400000
"""Multicodec odf-metadata-block."""

BLOCK_VERSION: Final = 2
_EVENT: Final[UnionSpec] = table_of(MetadataBlock).fields[-1].target
_SLOT_SYSTEM_TIME, _SLOT_PREV, _SLOT_SEQUENCE, _SLOT_EVENT_TYPE, _SLOT_EVENT = range(5)
_U8: Final = struct.Struct("<B")
_U64: Final = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """What walking a chain needs; ``event_type_id`` is the union id, also of unknown events."""

    prev_block_hash: Multihash | None
    sequence_number: int
    system_time: Instant
    event_type_id: int


def decode_block(raw: bytes) -> HashedBlock:
    """Read stored bytes. What later versions added is passed over or kept as ``UnknownEvent``.

    Raises:
        MalformedBlock: not a block.
        UnsupportedVersion: a manifest of another version.
        LimitExceeded: over ``BLOCK_BYTES_MAX``.
    """
    header, table = _open(raw)
    event = _event(table)
    block = MetadataBlock(header.system_time, header.prev_block_hash, header.sequence_number, event)
    return HashedBlock(physical_hash(raw), raw, block)


def encode_block(block: MetadataBlock) -> HashedBlock:
    """The bytes the reference would write for ``block``, with their hash.

    Raises:
        MalformedBlock: the event is an ``UnknownEvent``, which only its own bytes can say.
    """
    if isinstance(block.event, UnknownEvent):
        raise MalformedBlock(f"event {block.event.type_id} is not known well enough to write", hint="keep its bytes")
    raw = write_table(Manifest(BLOCK_KIND, BLOCK_VERSION, write_table(block)))
    return HashedBlock(physical_hash(raw), raw, block)


def is_canonical(block: HashedBlock) -> bool:
    """Whether writing the block anew gives the same bytes: the reference refuses others."""
    return not isinstance(block.event, UnknownEvent) and encode_block(block.block).raw == block.raw


def read_block_header(raw: bytes) -> BlockHeader:
    """The header alone, without reading the event: for walking.

    Raises:
        MalformedBlock, UnsupportedVersion, LimitExceeded: as ``decode_block``.
    """
    return _open(raw)[0]


def _open(raw: bytes) -> tuple[BlockHeader, Table]:
    if len(raw) > BLOCK_BYTES_MAX:
        raise LimitExceeded("block is too large", expected=f"at most {BLOCK_BYTES_MAX} bytes", found=len(raw))
    buffer = FlatBuffer(_content(raw))
    buffer.enter_table(1)
    table = Table(buffer, buffer.follow(0))
    return _header(buffer, table), table


def _content(raw: bytes) -> bytes:
    manifest: Manifest = read_table(raw, Manifest)
    if manifest.kind != BLOCK_KIND:
        raise MalformedBlock("manifest holds something else", expected=hex(BLOCK_KIND), found=hex(manifest.kind))
    if manifest.version != BLOCK_VERSION:
        state = "obsolete" if 0 <= manifest.version < BLOCK_VERSION else "newer than this software"
        raise UnsupportedVersion(
            f"block manifest version {manifest.version} is {state}", expected=BLOCK_VERSION, found=manifest.version
        )
    return manifest.content


def _header(buffer: FlatBuffer, table: Table) -> BlockHeader:
    time, prev, sequence, event_type = (table.field(slot) for slot in range(_SLOT_EVENT))
    if time is None or event_type is None:
        raise MalformedBlock(
            f"MetadataBlock.{'systemTime' if time is None else 'event'} is missing",
            hint="blocks before ODF 0.34 differ",
        )
    return BlockHeader(
        None if prev is None else _hash(read_bytes(buffer, buffer.follow(prev))),
        0 if sequence is None else buffer.number(_U64, sequence),
        read_instant(buffer, time),
        buffer.number(_U8, event_type),
    )


def _hash(data: bytes) -> Multihash:
    try:
        return Multihash.from_bytes(data)
    except MalformedIdentifier as error:
        raise MalformedBlock(f"MetadataBlock.prevBlockHash: {error.message}") from error


def _event(table: Table) -> MetadataEvent | UnknownEvent:
    position = table.field(_SLOT_EVENT)
    type_position = table.field(_SLOT_EVENT_TYPE)
    if position is None or type_position is None:
        raise MalformedBlock("MetadataBlock.event is missing")
    try:
        member = union_member(table, _EVENT, _SLOT_EVENT_TYPE)
        event: MetadataEvent = read_value(table.buffer, table.buffer.follow(position), member, 2)
    except NewerContent as newer:
        return UnknownEvent(table.buffer.number(_U8, type_position), f"{newer} is not known to this version")
    return event
