"""What a stored block adds to its dataset, read without decoding its event: what planning a long transfer needs.

The same as the whole block would say, at a tenth of the cost. Two events add something; the fields of all others are
not looked at. Whoever takes the block in decodes and checks it whole.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from opendatafabric.chain.objects import ObjectFile, ObjectKind, object_file
from opendatafabric.codec.block_header import block_content, bytes_at, table_offsets
from opendatafabric.errors import MalformedBlock, MalformedIdentifier
from opendatafabric.multihash import Multihash

_NEW_DATA_SLOT: Final = {1: 2, 2: 3}
"""By the union id of AddData and ExecuteTransform; ``new_checkpoint`` has the slot behind it."""

_u32: Final = struct.Struct("<I").unpack_from
_u64: Final = struct.Struct("<Q").unpack_from


class NamedObject(NamedTuple):
    """An object as a block names it; the multihash in its binary form, not looked at yet."""

    kind: ObjectKind
    physical_hash: bytes
    size: int

    def to_file(self) -> ObjectFile:
        """The object with everything checked.

        Raises:
            MalformedBlock: the hash is none.
            LimitExceeded: a declared size beyond ``OBJECT_BYTES_MAX``.
        """
        try:
            return object_file(self.kind, Multihash.from_bytes(self.physical_hash), self.size)
        except MalformedIdentifier as error:
            raise MalformedBlock(f"hash of an object: {error.message}") from error


class Additions(NamedTuple):
    """What one block adds; ``prev_block_hash`` in its binary form, not looked at yet."""

    prev_block_hash: bytes | None
    record_count: int
    objects: tuple[NamedObject, ...]


def read_additions(raw: bytes) -> Additions:
    """What the stored block ``raw`` adds.

    Raises:
        MalformedBlock, UnsupportedVersion, LimitExceeded: as reading the whole block, for the parts looked at.
    """
    data = block_content(raw)
    try:
        table = _u32(data, 0)[0]
        _, prev, _, event_type, event, _ = table_offsets(data, table)
        if not (event_type and event):
            raise MalformedBlock("MetadataBlock.event is missing")
        prev_block_hash = bytes_at(data, table + prev, "MetadataBlock.prevBlockHash") if prev else None
        slot = _NEW_DATA_SLOT.get(data[table + event_type])
        if slot is None:
            return Additions(prev_block_hash, 0, ())
        return Additions(prev_block_hash, *_of_event(data, _followed(data, table + event), slot))
    except (struct.error, IndexError) as error:
        raise MalformedBlock("the block inside the manifest is cut off, or no FlatBuffer") from error


def _of_event(data: bytes, table: int, slot: int) -> tuple[int, tuple[NamedObject, ...]]:
    offsets = table_offsets(data, table)
    new_data, new_checkpoint = offsets[slot], offsets[slot + 1]
    record_count, objects = _data_slice(data, _followed(data, table + new_data)) if new_data else (0, ())
    if new_checkpoint:
        objects = (*objects, _checkpoint(data, _followed(data, table + new_checkpoint)))
    return record_count, objects


def _data_slice(data: bytes, table: int) -> tuple[int, tuple[NamedObject, ...]]:
    _, physical_hash, interval, size, _, _ = table_offsets(data, table)
    if not (physical_hash and interval):
        raise MalformedBlock("DataSlice.physicalHash or offsetInterval is missing")
    offsets = _followed(data, table + interval)
    start, end, _, _, _, _ = table_offsets(data, offsets)
    first = _u64(data, offsets + start)[0] if start else 0
    last = _u64(data, offsets + end)[0] if end else 0
    found = bytes_at(data, table + physical_hash, "DataSlice.physicalHash")
    named = NamedObject(ObjectKind.DATA_SLICE, found, _u64(data, table + size)[0] if size else 0)
    return last - first + 1, (named,)


def _checkpoint(data: bytes, table: int) -> NamedObject:
    physical_hash, size, _, _, _, _ = table_offsets(data, table)
    if not physical_hash:
        raise MalformedBlock("Checkpoint.physicalHash is missing")
    found = bytes_at(data, table + physical_hash, "Checkpoint.physicalHash")
    return NamedObject(ObjectKind.CHECKPOINT, found, _u64(data, table + size)[0] if size else 0)


def _followed(data: bytes, position: int) -> int:
    followed: int = position + _u32(data, position)[0]
    return followed
