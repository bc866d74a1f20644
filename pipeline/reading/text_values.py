"""Values of records as text and as what JSON knows: times as in RFC 3339, bytes hexadecimal, decimals as text.

Numbers that are no numbers are null. Fractions of seconds have three digits, six or nine, or none if they are zero, as
the reference writes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.errors import UnsupportedOperation

_ZEROS: Final = ((r"(\.\d{6})000(Z?)$", r"\1\2"), (r"(\.\d{3})000(Z?)$", r"\1\2"), (r"\.000(Z?)$", r"\1"))


def json_rows(records: pa.Table | pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Each record as values that JSON knows.

    Raises:
        UnsupportedOperation: columns of one name, or nanoseconds inside lists and structs.
    """
    names = unique_names(records.schema)
    for row in text_rows(records):
        yield dict(zip(names, row, strict=True))


def text_rows(records: pa.Table | pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """Each record as values that JSON knows, by position; errors as in ``json_columns``."""
    yield from zip(*json_columns(records), strict=True) if records.num_columns else [()] * records.num_rows


def json_columns(records: pa.Table | pa.RecordBatch) -> list[list[Any]]:
    """Each column as values that JSON knows; floats of 32 bits become those whose shortest text is the same.

    Raises:
        UnsupportedOperation: nanoseconds inside lists and structs.
    """
    try:
        return [_values(readable(column)) for column in records.columns]
    except ValueError as error:
        raise UnsupportedOperation(f"values that text cannot show: {error}", hint="use Arrow or Parquet") from None


def unique_names(schema: pa.Schema) -> list[str]:
    """The names of the columns; ``UnsupportedOperation`` if two are the same."""
    names: list[str] = schema.names
    if len(set(names)) < len(names):
        raise UnsupportedOperation("two columns have one name", found=", ".join(names), hint="name them by AS")
    return names


def readable(column: Any) -> Any:
    """Times and dates as text, since Python's own know no nanoseconds; other columns as they are."""
    kind = column.type
    if pa.types.is_date(kind):
        return column.cast(pa.date32()).cast(pa.string())
    if not pa.types.is_timestamp(kind):
        return column
    zoned = column if kind.tz is None else column.cast(pa.timestamp(kind.unit, "UTC"))
    text = pc.replace_substring(zoned.cast(pa.string()), " ", "T", max_replacements=1)
    for pattern, shorter in _ZEROS["num".find(kind.unit[0]) :] if kind.unit != "s" else ():
        text = pc.replace_substring_regex(text, pattern, shorter)
    return text


def _values(column: Any) -> list[Any]:
    kind = column.type
    known = _known_to_python(kind)
    values = (column if known == kind else column.cast(known)).to_pylist(maps_as_pydicts="lossy")
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind):
        return values  # type: ignore[no-any-return]
    if pa.types.is_float32(kind):
        return [None if each is None or not math.isfinite(each) else float(str(np.float32(each))) for each in values]
    return list(map(_plain, values))


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
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, date | datetime | time):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.hex() if isinstance(value, bytes) else str(value)
