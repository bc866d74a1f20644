"""Canonical FlatBuffers: the one layout for a value that the reference would write.

Field order decides the hash of a block, so nothing is left to a library: children first in the order of the fields,
then the table in the order of its slots; strings are never shared, vtables are trimmed and shared by content. The
struct of an instant is aligned to one byte, not to four as its schema says: that is how the reference lays it out.
Source: FlatBuffers internals; ODF schema 0.37.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final

from opendatafabric.codec.tables import INLINE, FieldSpec, Kind, TableSpec, UnionSpec, table_of
from opendatafabric.errors import LimitExceeded, MalformedInput
from opendatafabric.instant import Instant
from opendatafabric.limits import BLOCK_DEPTH_MAX

INSTANT: Final = struct.Struct("<iHxxII")
_U32: Final = struct.Struct("<I")
_I32: Final = struct.Struct("<i")
_EMPTY: Final = b""


class _Buffer:
    """Bytes gathered from the end to the front; a position is counted in bytes from the end."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.used = 0
        self._alignment = 4
        self._vtables: dict[bytes, int] = {}
        self._depth = 0

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Around the writing of one table: counts how deep it lies."""
        self._depth += 1
        if self._depth > BLOCK_DEPTH_MAX:
            raise LimitExceeded("tables nest too deep", expected=f"at most {BLOCK_DEPTH_MAX} inside each other")
        yield
        self._depth -= 1

    def prepend(self, data: bytes) -> int:
        self._pieces.append(data)
        self.used += len(data)
        return self.used

    def align(self, alignment: int, following: int) -> None:
        """Pad so that after ``following`` more bytes the position is aligned."""
        self._alignment = max(self._alignment, alignment)
        padding = -(self.used + following) % alignment
        if padding:
            self.prepend(bytes(padding))

    def scalar(self, data: bytes) -> int:
        self.align(len(data), len(data))
        return self.prepend(data)

    def offset_to(self, position: int) -> int:
        self.align(4, 4)
        return self.prepend(_U32.pack(self.used + 4 - position))

    def byte_vector(self, data: bytes, terminator: bytes = _EMPTY) -> int:
        self.align(4, len(data) + len(terminator))
        self.prepend(data + terminator)
        return self.prepend(_U32.pack(len(data)))

    def offset_vector(self, positions: list[int]) -> int:
        self.align(4, 4 * len(positions))
        for position in reversed(positions):
            self.offset_to(position)
        return self.prepend(_U32.pack(len(positions)))

    def table(self, start: int, slots: dict[int, int]) -> int:
        """Close the table whose fields were put down since ``start`` (slot → position)."""
        self.align(4, 4)
        here = self.used + 4
        entries = [here - slots[slot] if slot in slots else 0 for slot in range(max(slots, default=-1) + 1)]
        vtable = struct.pack(f"<{2 + len(entries)}H", 4 + 2 * len(entries), here - start, *entries)
        shared = self._vtables.get(vtable)
        self.prepend(_I32.pack(shared - here if shared is not None else len(vtable)))
        if shared is None:
            self._vtables[vtable] = self.prepend(vtable)
        return here

    def finish(self, root: int) -> bytes:
        self.align(self._alignment, 4)
        self.offset_to(root)
        return b"".join(reversed(self._pieces))


def write_table(value: Any) -> bytes:
    """``value`` (any metadata type) as the root of a finished buffer.

    Raises:
        MalformedInput: attributes that are no JSON object, text with half a surrogate pair, a number out of range.
        LimitExceeded: tables nested deeper than any reader follows.
    """
    buffer = _Buffer()
    try:
        return buffer.finish(_table(buffer, value))
    except (UnicodeEncodeError, struct.error) as error:
        raise MalformedInput(f"{type(value).__name__} cannot be written: {error}") from None


def _table(buffer: _Buffer, value: Any) -> int:
    with buffer.nested():
        return _fields(buffer, table_of(value.__class__), value)


def _fields(buffer: _Buffer, spec: TableSpec, value: Any) -> int:
    children = _children(buffer, spec, value)
    start = buffer.used
    slots: dict[int, int] = {}
    for field in spec.fields:
        given = getattr(value, field.name)
        if given is None:
            continue
        if field.kind in INLINE:
            _inline(buffer, field, given, slots)
            continue
        if field.kind is Kind.UNION:
            slots[field.slot - 1] = buffer.scalar(bytes([field.target.id_of(type(given))]))
        slots[field.slot] = buffer.offset_to(children[field.slot])
    return buffer.table(start, slots)


def _children(buffer: _Buffer, spec: TableSpec, value: Any) -> dict[int, int]:
    return {
        field.slot: _child(buffer, field, given)
        for field in spec.fields
        if field.kind not in INLINE and (given := getattr(value, field.name)) is not None
    }


def _inline(buffer: _Buffer, field: FieldSpec, given: Any, slots: dict[int, int]) -> None:
    if field.kind is Kind.INSTANT:
        slots[field.slot] = buffer.prepend(pack_instant(given))
        return
    number = given.value if isinstance(given, Enum) else int(given)
    if number or field.optional:
        slots[field.slot] = buffer.scalar(struct.pack("<" + (field.scalar.format if field.scalar else "B"), number))


def _child(buffer: _Buffer, field: FieldSpec, given: Any) -> int:  # noqa: PLR0911  one per kind
    match field.kind:
        case Kind.STRING:
            return buffer.byte_vector(given.encode(), b"\0")
        case Kind.DATASET_REF | Kind.DATASET_ALIAS:
            return buffer.byte_vector(str(given).encode(), b"\0")
        case Kind.HASH | Kind.DATASET_ID | Kind.BYTES:
            return buffer.byte_vector(bytes(given))
        case Kind.STRINGS:
            return buffer.offset_vector([buffer.byte_vector(item.encode(), b"\0") for item in given])
        case Kind.TABLES:
            return buffer.offset_vector([_table(buffer, item) for item in given])
        case Kind.UNIONS:
            return buffer.offset_vector([_wrapped(buffer, field.target, item) for item in given])
        case Kind.ATTRIBUTES:
            return _attributes(buffer, given.canonical().attributes)
        case _:
            return _table(buffer, given)


def _attributes(buffer: _Buffer, text: str) -> int:
    with buffer.nested():
        position = buffer.byte_vector(text.encode(), b"\0")
        start = buffer.used
        return buffer.table(start, {0: buffer.offset_to(position)})


def _wrapped(buffer: _Buffer, union: UnionSpec, value: Any) -> int:
    with buffer.nested():
        position = _table(buffer, value)
        start = buffer.used
        return buffer.table(start, {0: buffer.scalar(bytes([union.id_of(type(value))])), 1: buffer.offset_to(position)})


def pack_instant(instant: Instant) -> bytes:
    """The struct Timestamp: 16 bytes."""
    return INSTANT.pack(instant.year, instant.day_of_year, instant.second_of_day, instant.nanosecond)
