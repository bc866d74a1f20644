"""Arrow schemas as JSON, in the words of the Rust implementation, which is what the reference gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from opendatafabric.errors import UnsupportedOperation

types: Any = pa.types
_UNITS: Final = {"s": "Second", "ms": "Millisecond", "us": "Microsecond", "ns": "Nanosecond"}
_PLAIN: Final = {
    pa.null(): "Null",
    pa.bool_(): "Boolean",
    **{getattr(pa, f"int{bits}")(): f"Int{bits}" for bits in (8, 16, 32, 64)},
    **{getattr(pa, f"uint{bits}")(): f"UInt{bits}" for bits in (8, 16, 32, 64)},
    **{getattr(pa, f"float{bits}")(): f"Float{bits}" for bits in (16, 32, 64)},
    pa.string(): "Utf8",
    pa.large_string(): "LargeUtf8",
    pa.string_view(): "Utf8View",
    pa.binary(): "Binary",
    pa.large_binary(): "LargeBinary",
    pa.binary_view(): "BinaryView",
    pa.date32(): "Date32",
    pa.date64(): "Date64",
}


def arrow_json(schema: pa.Schema) -> dict[str, Any]:
    """The schema as JSON values.

    Raises:
        UnsupportedOperation: a type that has no name here.
    """
    return {"fields": [_field(field) for field in schema], "metadata": {}}


def _field(field: Any) -> dict[str, Any]:
    return {
        "name": field.name,
        "data_type": _type(field.type),
        "nullable": field.nullable,
        "dict_id": 0,
        "dict_is_ordered": False,
        "metadata": {},
    }


def _type(kind: Any) -> Any:
    if kind in _PLAIN:
        return _PLAIN[kind]
    for is_kind, written in _NESTED:
        if is_kind(kind):
            return written(kind)
    raise UnsupportedOperation(f"type {kind} has no JSON form", hint="ask for the schema as OdfJson or Parquet")


_NESTED: Final[tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...]] = (
    (types.is_timestamp, lambda kind: {"Timestamp": [_UNITS[kind.unit], kind.tz]}),
    (types.is_time32, lambda kind: {"Time32": _UNITS[kind.unit]}),
    (types.is_time64, lambda kind: {"Time64": _UNITS[kind.unit]}),
    (types.is_duration, lambda kind: {"Duration": _UNITS[kind.unit]}),
    (types.is_interval, lambda _: {"Interval": "MonthDayNano"}),
    (types.is_decimal128, lambda kind: {"Decimal128": [kind.precision, kind.scale]}),
    (types.is_decimal256, lambda kind: {"Decimal256": [kind.precision, kind.scale]}),
    (types.is_fixed_size_binary, lambda kind: {"FixedSizeBinary": kind.byte_width}),
    (types.is_fixed_size_list, lambda kind: {"FixedSizeList": [_field(kind.value_field), kind.list_size]}),
    (types.is_large_list, lambda kind: {"LargeList": _field(kind.value_field)}),
    (types.is_list, lambda kind: {"List": _field(kind.value_field)}),
    (types.is_struct, lambda kind: {"Struct": [_field(kind.field(index)) for index in range(kind.num_fields)]}),
    (types.is_map, lambda kind: {"Map": [_map_field(kind), kind.keys_sorted]}),
    (types.is_dictionary, lambda kind: {"Dictionary": [_type(kind.index_type), _type(kind.value_type)]}),
)


def _map_field(kind: Any) -> dict[str, Any]:
    return _field(pa.field("entries", pa.struct([kind.key_field, kind.item_field]), nullable=False))
