"""The header of a stored block without reading its event: what walking a chain of many blocks needs, in a few µs.

The same bytes as ``block_codec`` reads through the tables; here the dozen numbers are picked out directly. Positions
only grow while offsets are followed; the one signed offset, from a table to its vtable, is checked. Few vtables occur
in a chain, so what they say is remembered.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from opendatafabric.codec.flatbuffers_write import INSTANT
from opendatafabric.errors import LimitExceeded, MalformedBlock, MalformedIdentifier, OdfError, UnsupportedVersion
from opendatafabric.instant import Instant
from opendatafabric.limits import BLOCK_BYTES_MAX
from opendatafabric.multihash import Multihash

BLOCK_KIND: Final = 0x400000
"""Multicodec odf-metadata-block."""

BLOCK_VERSION: Final = 2
_u32: Final = struct.Struct("<I").unpack_from
_i32: Final = struct.Struct("<i").unpack_from
_i64: Final = struct.Struct("<q").unpack_from
_u64: Final = struct.Struct("<Q").unpack_from
_u16: Final = struct.Struct("<H").unpack_from
_BLOCK_SLOTS: Final = 5
SLOTS: Final = 6
_VTABLE_FORMAT: Final = f"<{2 + SLOTS}H"
_VTABLE_BYTES: Final = struct.calcsize(_VTABLE_FORMAT)
_VTABLES_REMEMBERED: Final = 256


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """``event_type_id`` is the union id of the event, also of events this version does not know."""

    prev_block_hash: Multihash | None
    sequence_number: int
    system_time: Instant
    event_type_id: int


def read_block_header(raw: bytes) -> BlockHeader:
    """The header of a stored block.

    Raises:
        MalformedBlock: not a block.
        UnsupportedVersion: a manifest of another version.
        LimitExceeded: over ``BLOCK_BYTES_MAX``.
    """
    try:
        return _header(block_content(raw))
    except MalformedIdentifier as error:
        raise MalformedBlock(f"MetadataBlock.prevBlockHash: {error.message}") from error
    except struct.error as error:
        raise MalformedBlock("the block inside the manifest is cut off, or no FlatBuffer") from error


def block_content(raw: bytes) -> bytes:
    """The buffer of the block inside its manifest; errors as ``read_block_header``."""
    if len(raw) > BLOCK_BYTES_MAX:
        raise LimitExceeded("block is too large", expected=f"at most {BLOCK_BYTES_MAX} bytes", found=len(raw))
    try:
        table = _u32(raw, 0)[0]
        kind, version, content, *_ = table_offsets(raw, table)
        found_kind = _i64(raw, table + kind)[0] if kind else 0
        found_version = _i32(raw, table + version)[0] if version else 0
        if found_kind != BLOCK_KIND or found_version != BLOCK_VERSION:
            raise _another_manifest(found_kind, found_version)
        return bytes_at(raw, table + content if content else 0, "Manifest.content")
    except struct.error as error:
        raise MalformedBlock(
            "these bytes are no metadata block, or are cut off", hint="blocks lie in the folder blocks/ of a dataset"
        ) from error


def _header(data: bytes) -> BlockHeader:
    table = _u32(data, 0)[0]
    offsets = table_offsets(data, table)[:_BLOCK_SLOTS]
    time, prev, sequence, event_type, event = [table + offset if offset else 0 for offset in offsets]
    if not (time and event_type and event):
        missing = "systemTime" if not time else "event"
        raise MalformedBlock(
            f"MetadataBlock.{missing} is missing", hint="blocks before ODF 0.34 are laid out differently"
        )
    if event_type >= len(data):
        raise MalformedBlock("block ends before the type of its event")
    return BlockHeader(
        Multihash.from_bytes(bytes_at(data, prev, "MetadataBlock.prevBlockHash")) if prev else None,
        _u64(data, sequence)[0] if sequence else 0,
        unpack_instant(data, time),
        data[event_type],
    )


def unpack_instant(data: bytes, position: int) -> Instant:
    """The struct Timestamp, wherever it lies; ``MalformedBlock`` when a number is out of range."""
    if position + INSTANT.size > len(data):
        raise MalformedBlock("block ends in a timestamp")
    year, day, second, nanosecond = INSTANT.unpack_from(data, position)
    if not (1 <= day <= 366 and second < 86_400 and nanosecond < 2_000_000_000):
        raise MalformedBlock("timestamp is out of range", found=f"day {day}, second {second}, nanosecond {nanosecond}")
    return Instant(year, day, second, nanosecond)


def table_offsets(data: bytes, table: int) -> tuple[int, ...]:
    """Where the first ``SLOTS`` fields of the table at ``table`` lie, counted from it; 0 for an absent one.

    Raises:
        MalformedBlock, struct.error: there is no such table.
    """
    vtable = table - _i32(data, table)[0]
    if vtable < 0:
        raise MalformedBlock("table has no vtable")
    size = _u16(data, vtable)[0]
    if vtable + size > len(data):
        raise MalformedBlock("vtable ends behind the block")
    return _offsets(data[vtable : vtable + size] if size <= _VTABLE_BYTES else data[vtable : vtable + _VTABLE_BYTES])


@lru_cache(_VTABLES_REMEMBERED)
def _offsets(vtable: bytes) -> tuple[int, ...]:
    if len(vtable) % 2:
        raise MalformedBlock("vtable has half a slot")
    return struct.unpack(_VTABLE_FORMAT, vtable.ljust(_VTABLE_BYTES, b"\0"))[2:]


def bytes_at(data: bytes, field: int, name: str) -> bytes:
    """The bytes that the field at ``field`` leads to; ``MalformedBlock`` by ``name`` when it is absent or cut off."""
    if not field:
        raise MalformedBlock(f"{name} is missing")
    start = field + _u32(data, field)[0] + 4
    end: int = start + _u32(data, start - 4)[0]
    if end > len(data):
        raise MalformedBlock(f"{name} ends behind the block")
    return data[start:end]


def _another_manifest(kind: int, version: int) -> OdfError:
    if kind != BLOCK_KIND:
        return MalformedBlock("manifest holds something else", expected=hex(BLOCK_KIND), found=hex(kind))
    state = "obsolete" if 0 <= version < BLOCK_VERSION else "newer than this software"
    return UnsupportedVersion(f"block manifest version {version} is {state}", expected=BLOCK_VERSION, found=version)
