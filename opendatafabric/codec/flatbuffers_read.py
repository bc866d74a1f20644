"""Reading FlatBuffers from hostile hands: every offset is checked before it is followed.

Driven by the same rows as the writer. Work is bounded by the size of the input: tables and bytes come out of a budget,
so that offsets which share or repeat parts cannot multiply it. Unknown trailing slots are passed over and noted; an
unknown union member or enum value is reported as ``NewerContent`` for the caller to keep opaque.
Source: FlatBuffers internals; the reference's verifier for depth and table count.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import Any, Final

from opendatafabric.codec.block_header import unpack_instant
from opendatafabric.codec.tables import FieldSpec, Kind, TableSpec, UnionSpec, table_of
from opendatafabric.dataset_ref import DatasetAlias, parse_dataset_ref
from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedBlock, MalformedIdentifier, MalformedInput
from opendatafabric.limits import BLOCK_DEPTH_MAX, BLOCK_TABLES_MAX
from opendatafabric.metadata.slices import ExtraAttributes
from opendatafabric.multihash import Multihash

_U8: Final = struct.Struct("<B")
_U16: Final = struct.Struct("<H")
_U32: Final = struct.Struct("<I")
_I32: Final = struct.Struct("<i")
_SHARED_BYTES_MAX: Final = 1024 * 1024
"""Other writers may share strings and tables: what a block reads beyond twice its own size, in bytes."""


class NewerContent(Exception):  # noqa: N818  it is a signal, not an error
    """A union member or enum value of a later version of the format."""


class FlatBuffer:
    """A buffer and what of its reading budget is left."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.has_newer_fields = False
        """Whether a table read so far has a field that its rows do not know."""

        self._tables_left = min(BLOCK_TABLES_MAX, len(data) // 4)
        self._bytes_left = 2 * len(data) + _SHARED_BYTES_MAX

    def number(self, layout: struct.Struct, position: int) -> int:
        """One number; ``position`` is checked."""
        if position < 0 or position + layout.size > len(self.data):
            raise MalformedBlock(f"block ends before byte {position + layout.size}")
        return int(layout.unpack_from(self.data, position)[0])

    def follow(self, position: int) -> int:
        """Where the offset at ``position`` leads."""
        return position + self.number(_U32, position)

    def take(self, position: int, size: int) -> bytes:
        """``size`` bytes, charged to the budget."""
        if size > len(self.data) - position:
            raise MalformedBlock(f"vector of {size} bytes at byte {position} ends behind the block")
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise MalformedBlock("parts of the block overlap too often")
        return self.data[position : position + size]

    def enter_table(self, depth: int) -> None:
        """Charge one table to the budget."""
        self._tables_left -= 1
        if depth > BLOCK_DEPTH_MAX or self._tables_left < 0:
            raise MalformedBlock("tables of the block nest too deep or overlap", expected=f"depth ≤ {BLOCK_DEPTH_MAX}")


class Table:
    """The fields of one table by slot, the first ``known`` of which have a meaning here."""

    __slots__ = ("_slots", "buffer", "position")

    def __init__(self, buffer: FlatBuffer, position: int, known: int) -> None:
        vtable = position - buffer.number(_I32, position)
        size = buffer.number(_U16, vtable)
        if size < 4 or size % 2 or vtable + size > len(buffer.data):
            raise MalformedBlock(f"table at byte {position} has no vtable")
        self.buffer = buffer
        self.position = position
        self._slots = struct.unpack_from(f"<{size // 2 - 2}H", buffer.data, vtable + 4)
        if len(self._slots) > known and any(self._slots[known:]):
            buffer.has_newer_fields = True

    def field(self, slot: int) -> int | None:
        """Where the field lies, or ``None`` when absent."""
        offset = self._slots[slot] if slot < len(self._slots) else 0
        return self.position + offset if offset else None


def read_table(data: bytes, kind: type) -> Any:
    """The root of a finished buffer as a value of ``kind``.

    Raises:
        MalformedBlock: not such a buffer, or a required field is absent.
        NewerContent: a union member or enum value that this version does not know.
    """
    buffer = FlatBuffer(data)
    return read_value(buffer, buffer.follow(0), kind, 1)


def read_value(buffer: FlatBuffer, position: int, kind: type, depth: int) -> Any:
    """The table at ``position``; ``depth`` counts from 1."""
    buffer.enter_table(depth)
    spec = table_of(kind)
    table = Table(buffer, position, spec.slots_total)
    values = {field.name: _field(table, spec, field, depth) for field in spec.fields}
    return kind(**values)


def _field(table: Table, spec: TableSpec, field: FieldSpec, depth: int) -> Any:
    position = table.field(field.slot)
    if field.kind in (Kind.SCALAR, Kind.ENUM, Kind.BOOL):
        return _number(table, field, position)
    if position is None:
        if field.optional:
            return None
        raise MalformedBlock(f"{spec.name}.{field.text_name} is missing")
    try:
        return _value(table, field, position, depth)
    except MalformedIdentifier as error:
        raise MalformedBlock(f"{spec.name}.{field.text_name}: {error.message}") from error


def _number(table: Table, field: FieldSpec, position: int | None) -> Any:
    if position is None and field.optional:
        return None
    layout = struct.Struct("<" + (field.scalar.format if field.scalar else "B"))
    number = 0 if position is None else table.buffer.number(layout, position)
    if field.kind is Kind.BOOL:
        return bool(number)
    return _enum(field.target, number) if field.kind is Kind.ENUM else number


def _enum(kind: type[Enum], number: int) -> Enum:
    try:
        return kind(number)
    except ValueError:
        raise NewerContent(f"{kind.__name__} {number}") from None


def _value(table: Table, field: FieldSpec, position: int, depth: int) -> Any:  # noqa: PLR0911  one per kind
    buffer = table.buffer
    match field.kind:
        case Kind.INSTANT:
            return unpack_instant(buffer.data, position)
        case Kind.UNION:
            return _union(table, field, position, depth)
        case Kind.STRING | Kind.DATASET_REF | Kind.DATASET_ALIAS:
            return _text(field.kind, read_string(buffer, buffer.follow(position)))
        case Kind.HASH | Kind.DATASET_ID | Kind.BYTES:
            return _bytes(field.kind, read_bytes(buffer, buffer.follow(position)))
        case Kind.ATTRIBUTES:
            return _attributes(buffer, buffer.follow(position), depth + 1)
        case Kind.TABLE:
            return read_value(buffer, buffer.follow(position), field.target, depth + 1)
        case _:
            return _vector(buffer, field, buffer.follow(position), depth)


def _text(kind: Kind, text: str) -> Any:
    if kind is Kind.DATASET_REF:
        return parse_dataset_ref(text)
    return DatasetAlias.from_text(text) if kind is Kind.DATASET_ALIAS else text


def _bytes(kind: Kind, data: bytes) -> Any:
    if kind is Kind.HASH:
        return Multihash.from_bytes(data)
    return DatasetId.from_bytes(data) if kind is Kind.DATASET_ID else data


def _union(table: Table, field: FieldSpec, position: int, depth: int) -> Any:
    member = union_member(table, field.target, field.slot - 1)
    return read_value(table.buffer, table.buffer.follow(position), member, depth + 1)


def union_member(table: Table, union: UnionSpec, type_slot: int) -> type:
    """Which member the type slot names; ``NewerContent`` for one beyond the known."""
    position = table.field(type_slot)
    number = 0 if position is None else table.buffer.number(_U8, position)
    if number == 0:
        raise MalformedBlock(f"union {union.name} has a value and no type")
    if number > len(union.members):
        raise NewerContent(f"{union.name} {number}")
    return union.members[number - 1]


def _vector(buffer: FlatBuffer, field: FieldSpec, position: int, depth: int) -> tuple[Any, ...]:
    count = buffer.number(_U32, position)
    buffer.take(position + 4, 4 * count)
    places = [position + 4 + 4 * index for index in range(count)]
    return tuple(_item(buffer, field, buffer.follow(place), depth + 1) for place in places)


def _item(buffer: FlatBuffer, field: FieldSpec, position: int, depth: int) -> Any:
    if field.kind is Kind.STRINGS:
        return read_string(buffer, position)
    if field.kind is Kind.TABLES:
        return read_value(buffer, position, field.target, depth)
    buffer.enter_table(depth)
    wrapper = Table(buffer, position, 2)
    value = wrapper.field(1)
    if value is None:
        raise MalformedBlock(f"union {field.target.name} in {field.text_name} has no value")
    return read_value(buffer, buffer.follow(value), union_member(wrapper, field.target, 0), depth + 1)


def _attributes(buffer: FlatBuffer, position: int, depth: int) -> ExtraAttributes:
    buffer.enter_table(depth)
    text = Table(buffer, position, 1).field(0)
    if text is None:
        raise MalformedBlock("ExtraAttributes.attributes is missing")
    attributes = ExtraAttributes(read_string(buffer, buffer.follow(text)))
    try:
        attributes.canonical()
    except MalformedInput as error:
        raise MalformedBlock(f"ExtraAttributes: {error.message}") from None
    return attributes


def read_string(buffer: FlatBuffer, position: int) -> str:
    """UTF-8 with its length before it and a NUL behind it."""
    data = read_bytes(buffer, position)
    if buffer.number(_U8, position + 4 + len(data)) != 0:
        raise MalformedBlock(f"string at byte {position} does not end with NUL")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise MalformedBlock(f"string at byte {position} is not UTF-8") from None


def read_bytes(buffer: FlatBuffer, position: int) -> bytes:
    """Bytes with their length before them."""
    return buffer.take(position + 4, buffer.number(_U32, position))
