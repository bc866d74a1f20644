"""What the logical hash knows of a type before it sees a value: its code, and the header of field names.

Follows the arrow-digest scheme (version 0) that ODF names ``arrow0-sha3-256``. Values are turned into bytes in
``column_bytes.py``; types that have no code here cannot be hashed by anybody and are refused by column and type.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from opendatafabric.data.arrow_storage import storage_type
from opendatafabric.errors import MalformedData

_UNITS: Final = {"s": 0, "ms": 1, "us": 2, "ns": 3}
_DAY: Final = 0
_MILLISECOND: Final = 1


@dataclass(frozen=True, slots=True)
class LeafColumn:
    """A column that has values of its own: the dotted path for people, and its Arrow type."""

    path: str
    type: pa.DataType


def leaf_columns(schema: pa.Schema) -> tuple[LeafColumn, ...]:
    """The columns that are hashed: structs give way to their fields, depth first."""
    fields = ((path, storage_type(field.type)) for path, field, _ in walk_fields(schema))
    return tuple(LeafColumn(path, data_type) for path, data_type in fields if not pa.types.is_struct(data_type))


def schema_header(schema: pa.Schema) -> bytes:
    """Names and nesting levels of all fields, structs before their children; types and nullability are not in it."""
    parts = []
    for _, field, level in walk_fields(schema):
        name = field.name.encode()
        parts.append(struct.pack("<Q", len(name)) + name + struct.pack("<Q", level))
    return b"".join(parts)


def walk_fields(schema: pa.Schema) -> Iterator[tuple[str, pa.Field, int]]:
    """Every field depth first with its dotted path and its level, 0 at the top."""
    return _walk([schema.field(index) for index in range(len(schema))], "", 0)


def _walk(fields: list[pa.Field], prefix: str, level: int) -> Iterator[tuple[str, pa.Field, int]]:
    for field in fields:
        path = prefix + field.name
        yield path, field, level
        data_type = storage_type(field.type)
        if pa.types.is_struct(data_type):
            yield from _walk(list(data_type), path + ".", level + 1)


def type_code(column: LeafColumn) -> bytes:
    """The bytes a column's hasher is fed before its first value.

    Raises:
        MalformedData: a type that has no logical hash; the message names column and type.
    """
    code = _code(column.type)
    if code is None:
        raise unhashable(column)
    return code


def unhashable(column: LeafColumn) -> MalformedData:
    """The refusal of a column whose type has no logical hash, or none for its values."""
    return MalformedData(
        f"column '{column.path}' of type {column.type} has no logical hash",
        hint="structs inside lists, maps, unions, durations, intervals and dictionaries have none: convert the column",
    )


def values_are_hashable(data_type: pa.DataType) -> bool:
    """Whether values may follow the code: a column of type null has a code and can have none."""
    data_type = storage_type(data_type)
    if is_list(data_type):
        return values_are_hashable(data_type.value_type)
    return not pa.types.is_null(data_type)


def _code(data_type: pa.DataType) -> bytes | None:
    """The code of a type, or nothing if it has none."""
    data_type = storage_type(data_type)
    for matches, encode in _CODES:
        if matches(data_type):
            return encode(data_type)
    return None


def _integer(data_type: Any) -> bytes:
    return struct.pack("<HBQ", 1, pa.types.is_signed_integer(data_type), data_type.bit_width)


def _float(data_type: Any) -> bytes:
    return struct.pack("<HQ", 2, data_type.bit_width)


def _decimal(data_type: Any) -> bytes:
    return struct.pack("<HQQq", 6, data_type.bit_width, data_type.precision, data_type.scale)


def _date(data_type: Any) -> bytes:
    unit = _DAY if pa.types.is_date32(data_type) else _MILLISECOND
    return struct.pack("<HQH", 7, data_type.bit_width, unit)


def _time(data_type: Any) -> bytes:
    return struct.pack("<HQH", 8, data_type.bit_width, _UNITS[data_type.unit])


def _timestamp(data_type: Any) -> bytes:
    start = struct.pack("<HH", 9, _UNITS[data_type.unit])
    if data_type.tz is None:
        return start + b"\0"
    zone: bytes = data_type.tz.encode()
    return start + struct.pack("<Q", len(zone)) + zone


def _list(data_type: Any) -> bytes | None:
    item = _code(data_type.value_type)
    return None if item is None else struct.pack("<H", 11) + item


def _fixed(code: int) -> Callable[[Any], bytes]:
    return lambda _: struct.pack("<H", code)


def is_binary(data_type: pa.DataType) -> bool:
    """Bytes of any layout, fixed width too."""
    types = pa.types
    return bool(
        types.is_binary(data_type)
        or types.is_large_binary(data_type)
        or types.is_binary_view(data_type)
        or types.is_fixed_size_binary(data_type)
    )


def is_string(data_type: pa.DataType) -> bool:
    """Text of any layout."""
    types = pa.types
    return bool(types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type))


def is_list(data_type: pa.DataType) -> bool:
    """Lists that can be hashed: not list views."""
    types = pa.types
    return bool(types.is_list(data_type) or types.is_large_list(data_type) or types.is_fixed_size_list(data_type))


_CODES: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], bytes | None]], ...]] = (
    (pa.types.is_null, _fixed(0)),
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _float),
    (pa.types.is_decimal, _decimal),
    (is_binary, _fixed(3)),
    (is_string, _fixed(4)),
    (pa.types.is_boolean, _fixed(5)),
    (pa.types.is_date, _date),
    (pa.types.is_time, _time),
    (pa.types.is_timestamp, _timestamp),
    (is_list, _list),
)
