"""Bytes ↔ MetadataBlock inside its manifest (spec: Metadata, Manifests).

A stored block is two FlatBuffers: the block, and a manifest whose content is the block's buffer. The block hash is over
the manifest's bytes. Bytes that arrive are kept; encoding is for blocks made here.
"""

from __future__ import annotations

from typing import Final

from opendatafabric.codec.block_header import BLOCK_KIND, BLOCK_VERSION, BlockHeader, block_content, read_block_header
from opendatafabric.codec.flatbuffers_read import FlatBuffer, NewerContent, Table, read_value, union_member
from opendatafabric.codec.flatbuffers_write import write_table
from opendatafabric.codec.tables import UnionSpec, table_of
from opendatafabric.errors import LimitExceeded, MalformedBlock, OdfError
from opendatafabric.limits import BLOCK_BYTES_MAX
from opendatafabric.metadata.block import HashedBlock, MetadataBlock
from opendatafabric.metadata.events import MetadataEvent, UnknownEvent
from opendatafabric.metadata.manifest import Manifest
from opendatafabric.multihash import physical_hash

__all__ = ["BlockHeader", "decode_block", "encode_block", "is_canonical", "read_block_header"]

_EVENT: Final[UnionSpec] = table_of(MetadataBlock).fields[-1].target
_EVENT_SLOT: Final = table_of(MetadataBlock).fields[-1].slot
_BLOCK_SLOTS: Final = table_of(MetadataBlock).slots_total


def decode_block(raw: bytes) -> HashedBlock:
    """Read stored bytes. Fields of later versions are passed over and noted, other content kept as ``UnknownEvent``.

    Raises:
        MalformedBlock: not a block.
        UnsupportedVersion: a manifest of another version.
        LimitExceeded: over ``BLOCK_BYTES_MAX``.
    """
    header = read_block_header(raw)
    try:
        event, has_newer_fields = _event(block_content(raw), header.event_type_id)
    except MalformedBlock as error:
        error.hint = error.hint or "blocks of ODF before 0.34 carry the same version and are laid out differently"
        raise
    block = MetadataBlock(header.system_time, header.prev_block_hash, header.sequence_number, event)
    return HashedBlock(physical_hash(raw), raw, block, has_newer_fields)


def encode_block(block: MetadataBlock) -> HashedBlock:
    """The bytes the reference would write for ``block``, with their hash.

    Raises:
        MalformedBlock: the event is an ``UnknownEvent``, which only its own bytes can say.
        MalformedInput: attributes that are no JSON object, text that is no Unicode.
        LimitExceeded: nested deeper than any reader follows, or over ``BLOCK_BYTES_MAX``.
    """
    if isinstance(block.event, UnknownEvent):
        raise MalformedBlock(f"event {block.event.type_id} is not known well enough to write", hint="keep its bytes")
    raw = write_table(Manifest(BLOCK_KIND, BLOCK_VERSION, write_table(block)))
    if len(raw) > BLOCK_BYTES_MAX:
        raise LimitExceeded("block is too large", expected=f"at most {BLOCK_BYTES_MAX} bytes", found=len(raw))
    return HashedBlock(physical_hash(raw), raw, block)


def is_canonical(block: HashedBlock) -> bool:
    """Whether writing the block anew gives the same bytes: the reference refuses others."""
    if isinstance(block.event, UnknownEvent):
        return False
    try:
        return encode_block(block.block).raw == block.raw
    except OdfError:
        return False  # parts that its bytes share are too much when written out


def _event(content: bytes, event_type_id: int) -> tuple[MetadataEvent | UnknownEvent, bool]:
    buffer = FlatBuffer(content)
    buffer.enter_table(1)
    table = Table(buffer, buffer.follow(0), _BLOCK_SLOTS)
    position = table.field(_EVENT_SLOT)
    if position is None:
        raise MalformedBlock("MetadataBlock.event is missing")
    try:
        member = union_member(table, _EVENT, _EVENT_SLOT - 1)
        event: MetadataEvent = read_value(buffer, buffer.follow(position), member, 2)
    except NewerContent as newer:
        return UnknownEvent(event_type_id, f"{newer} is not known to this version"), buffer.has_newer_fields
    return event, buffer.has_newer_fields
