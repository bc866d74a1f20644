"""Records as an engine computed them, in the schema that a dataset has declared.

Engines lose what they have no types for: Spark knows no unsigned integers, no milliseconds, no view layouts and no
required columns. The values are the same; this puts the declared types back. What would change a value, or is of
another kind, is refused: whether a schema may change is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.errors import MalformedData

_UNITS: Final = {"s": "second", "ms": "millisecond", "us": "microsecond", "ns": "nanosecond"}


def to_declared(records: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns that ``schema`` names, in its order and types; the result's schema is ``schema``.

    Timestamps are rounded down to the declared unit, also before 1970.

    Raises:
        MalformedData: a column is missing, left over or there twice, of another kind, holds values that do not fit or
            nulls where none may be; the message names it.
    """
    for name in records.column_names:
        if name not in schema.names or records.column_names.count(name) > 1:
            raise MalformedData(f"column '{name}' is not one of the schema, or there twice", expected=schema.names)
    columns = [_declared(records, field) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def kind_of(data_type: Any) -> object:
    """What the values are, however they are held: types of one kind differ in width, unit or layout only."""
    for holds, kind in _KINDS:
        if holds(data_type):
            return kind(data_type)
    return str(data_type)


def _declared(records: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if field.name not in records.column_names:
        raise MalformedData(f"column '{field.name}' is missing", expected=field.type)
    column = records.column(field.name)
    if not field.nullable and column.null_count:
        raise MalformedData(
            f"column '{field.name}' may not be null and contains {column.null_count} null values",
            hint="fill them in the query or the source, or declare the column without NOT NULL",
        )
    if column.type == field.type:
        return column
    if kind_of(column.type) != kind_of(field.type):
        raise MalformedData(f"column '{field.name}' has another type", expected=field.type, found=column.type)
    try:
        return _floored(column, field.type).cast(field.type)
    except pa.ArrowException as error:
        raise MalformedData(f"column '{field.name}' does not fit its type {field.type}: {error}") from None


def _floored(column: pa.ChunkedArray, declared: Any) -> pa.ChunkedArray:
    if pa.types.is_timestamp(declared):
        return pc.floor_temporal(column, unit=_UNITS[declared.unit])
    return column


def _is_integer(data_type: Any) -> bool:
    """Spark holds unsigned 64-bit integers as decimals of 20 digits."""
    types = pa.types
    return bool(types.is_integer(data_type) or data_type == pa.decimal128(20, 0))


def _is_text(data_type: Any) -> bool:
    types = pa.types
    return bool(types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type))


def _is_bytes(data_type: Any) -> bool:
    types = pa.types
    variable = types.is_binary(data_type) or types.is_large_binary(data_type) or types.is_binary_view(data_type)
    return bool(variable or types.is_fixed_size_binary(data_type))


def _is_list(data_type: Any) -> bool:
    types = pa.types
    return bool(types.is_list(data_type) or types.is_large_list(data_type) or types.is_fixed_size_list(data_type))


_KINDS: Final[tuple[tuple[Callable[[Any], bool], Callable[[Any], object]], ...]] = (
    (_is_integer, lambda _: "integer"),
    (_is_text, lambda _: "text"),
    (_is_bytes, lambda _: "bytes"),
    (pa.types.is_floating, lambda _: "floating"),
    (pa.types.is_decimal, lambda data_type: ("decimal", data_type.scale)),
    (pa.types.is_date, lambda _: "date"),
    (pa.types.is_timestamp, lambda data_type: ("timestamp", data_type.tz is None)),
    (_is_list, lambda data_type: ("list", kind_of(data_type.value_type))),
    (pa.types.is_struct, lambda data_type: tuple((field.name, kind_of(field.type)) for field in data_type)),
)
