"""Records as text: cells for people, values for JSON. Times are as in RFC 3339, bytes hexadecimal, decimals text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.data.changelog import OperationType
from opendatafabric.errors import UnsupportedOperation


def json_rows(records: pa.Table | pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Each record as values that JSON knows.

    Raises:
        UnsupportedOperation: columns of one name, or nanoseconds inside lists and structs.
    """
    names = records.schema.names
    if len(set(names)) < len(names):
        raise UnsupportedOperation("two columns have one name", found=", ".join(names), hint="name them by AS")
    for row in text_rows(records):
        yield dict(zip(names, row, strict=True))


def text_rows(records: pa.Table | pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """Each record as values that JSON knows, by position."""
    try:
        columns = [_readable(column).to_pylist() for column in records.columns]
    except ValueError as error:
        raise UnsupportedOperation(f"values that text cannot show: {error}", hint="use Arrow or Parquet") from None
    for row in zip(*columns, strict=True):
        yield tuple(map(_plain, row))


def cell(value: Any) -> str:
    """A value for people."""
    return "" if value is None else str(value)


def operation_cell(value: Any) -> str:
    """An operation for people: ``+A``, ``-R``, ``-C``, ``+C``."""
    return OperationType(value).symbol if value in iter(OperationType) else cell(value)


def _readable(column: Any) -> Any:
    """Timestamps as text, since Python's own know no nanoseconds."""
    if not pa.types.is_timestamp(column.type):
        known = _known_to_python(column.type)
        return column if known == column.type else column.cast(known)
    zoned = column if column.type.tz is None else column.cast(pa.timestamp(column.type.unit, "UTC"))
    return pc.replace_substring(zoned.cast(pa.string()), " ", "T", max_replacements=1)


def _known_to_python(kind: pa.DataType) -> pa.DataType:
    """The type with microseconds for nanoseconds, also inside: what pandas would make of them where it is installed
    is not the same text."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz) if kind.unit == "ns" else kind
    if pa.types.is_duration(kind):
        return pa.duration("us") if kind.unit == "ns" else kind
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_known_to_python(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_known_to_python(kind.value_type)))
    return kind


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, date | datetime | time):
        return value.isoformat().replace("+00:00", "Z")
    return value.hex() if isinstance(value, bytes) else str(value)
