"""The Arrow types of a Parquet file as the reference's reader sees them: they are part of the logical hash.

Parquet knows fewer types than Arrow, so writers embed the Arrow schema in the file. It is advice: it is followed where
it refines what the Parquet type says (another time zone, a finer width, large or view layouts) and ignored elsewhere.
These are the rules of arrow-rs, version 57; other readers follow slightly different ones.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from opendatafabric.data.arrow_storage import storage_type
from opendatafabric.data.type_codes import LeafColumn, is_list, unhashable
from opendatafabric.errors import MalformedData

_DECIMAL128_PRECISION_MAX: Final = 38
_CONTINUATION: Final = b"\xff\xff\xff\xff"


@dataclass(frozen=True, slots=True)
class ParquetLeaf:
    """A leaf column of the file: the type that is hashed, and the Parquet type it is stored as."""

    column: LeafColumn
    physical_type: str

    @property
    def is_int96(self) -> bool:
        """Whether this is a legacy timestamp of twelve bytes."""
        return self.physical_type == "INT96"


def decode_arrow_schema(text: bytes) -> pa.Schema:
    """The Arrow schema embedded under ``ARROW:schema``.

    Raises:
        MalformedData: not base64, or no schema message.
    """
    try:
        message = base64.b64decode(text, validate=True)
        framed = message[8:] if message.startswith(_CONTINUATION) else message
        return pa.ipc.read_schema(pa.py_buffer(_CONTINUATION + len(framed).to_bytes(4, "little") + framed))
    except (binascii.Error, pa.ArrowException, OSError, ValueError) as error:
        raise MalformedData(f"the Arrow schema embedded in the Parquet file cannot be read: {error}") from None


def parquet_leaves(inferred: pa.Schema, columns: Any, embedded: pa.Schema | None) -> tuple[ParquetLeaf, ...]:
    """The leaf columns in order.

    ``inferred`` is the schema by Parquet types alone, ``columns`` the Parquet column descriptions (indexable), and
    ``embedded`` the Arrow schema found in the file.

    Raises:
        MalformedData: the two schemas do not fit each other, or a type has no logical hash whatever it holds.
    """
    walker = _Walker(columns)
    hints = None if embedded is None else list(embedded)
    walker.fields(list(inferred), hints, "")
    return tuple(walker.leaves)


class _Walker:
    """Walks the Parquet schema and the embedded one side by side; leaves are numbered in depth-first order."""

    def __init__(self, columns: Any) -> None:
        self.leaves: list[ParquetLeaf] = []
        self._columns = columns
        self._next = 0

    def fields(self, fields: list[pa.Field], hints: list[pa.Field] | None, prefix: str) -> None:
        if hints is not None and [hint.name for hint in hints] != [field.name for field in fields]:
            raise _does_not_fit(prefix.rstrip(".") or "the root", "the fields of the Parquet schema")
        for index, field in enumerate(fields):
            self.field(field, None if hints is None else hints[index].type, prefix + field.name)

    def field(self, field: pa.Field, hint: pa.DataType | None, path: str) -> None:
        hint = storage_type(hint)
        if pa.types.is_struct(field.type):
            if hint is not None and not pa.types.is_struct(hint):
                raise _does_not_fit(path, "a struct")
            self.fields(list(field.type), None if hint is None else list(hint), path + ".")
            return
        physical = self._columns[self._next].physical_type
        found = self.type(field.type, hint, path)
        self.leaves.append(ParquetLeaf(LeafColumn(path, found), physical))

    def type(self, inferred: pa.DataType, hint: pa.DataType | None, path: str) -> pa.DataType:
        """The type of a field that is no struct."""
        if pa.types.is_map(inferred) or pa.types.is_struct(inferred):
            raise unhashable(LeafColumn(path, inferred))
        if not is_list(inferred):
            column = self._columns[self._next]
            self._next += 1
            stored = stored_type(column, inferred, path)
            return stored if hint is None else refine(stored, hint)
        return self.list_type(inferred, hint, path)

    def list_type(self, inferred: Any, hint: Any, path: str) -> pa.DataType:
        hint = storage_type(hint)
        if hint is not None and not is_list(hint):
            raise _does_not_fit(path, "a list")
        item = self.type(inferred.value_type, None if hint is None else hint.value_type, path + "[]")
        if hint is not None and pa.types.is_fixed_size_list(hint):
            return pa.list_(item, hint.list_size)
        return pa.large_list(item) if hint is not None and pa.types.is_large_list(hint) else pa.list_(item)


def stored_type(column: Any, inferred: pa.DataType, path: str) -> pa.DataType:
    """The Arrow type of a Parquet column by itself: what pyarrow infers, but for decimals, enumerations and intervals.

    Raises:
        MalformedData: an interval; it has no logical hash.
    """
    physical, logical = column.physical_type, column.logical_type.type
    if "INTERVAL" in (logical, column.converted_type):
        raise unhashable(LeafColumn(path, pa.month_day_nano_interval()))
    if pa.types.is_decimal(inferred):
        return _stored_decimal(column)
    if physical == "BYTE_ARRAY" and (logical == "ENUM" or column.converted_type == "ENUM"):
        return pa.binary()
    return pa.timestamp("ns") if physical == "INT96" else inferred


def _stored_decimal(column: Any) -> pa.DataType:
    """128 bits where they are enough: for fixed width by the width, otherwise by the precision."""
    fixed = column.physical_type == "FIXED_LEN_BYTE_ARRAY"
    narrow = column.length <= 16 if fixed else column.precision <= _DECIMAL128_PRECISION_MAX
    if narrow and column.precision > _DECIMAL128_PRECISION_MAX:
        raise MalformedData(f"column '{column.path}' has decimals of more digits than fit their width")
    return (pa.decimal128 if narrow else pa.decimal256)(column.precision, column.scale)


def refine(stored: Any, hint: Any) -> pa.DataType:
    """The type that the embedded schema asks for, if it is one that ``stored`` may be read as; otherwise ``stored``."""
    hint = storage_type(hint)
    if pa.types.is_dictionary(hint):
        refined = refine(stored, hint.value_type)
        return hint if refined == hint.value_type else refined
    return hint if any(test(stored, hint) for test in _REFINEMENTS) else stored


def _integers_as_times(stored: Any, hint: Any) -> bool:
    types = pa.types
    if types.is_int32(stored):
        return bool(types.is_timestamp(hint) or types.is_time32(hint))
    as_times = types.is_timestamp(hint) or types.is_time64(hint) or types.is_duration(hint) or types.is_date64(hint)
    return bool(types.is_int64(stored) and as_times)


def _days_as_milliseconds(stored: Any, hint: Any) -> bool:
    return bool(pa.types.is_date32(stored) and pa.types.is_date64(hint))


def _time_zones(stored: Any, hint: Any) -> bool:
    """The same unit in another zone, or any coarser unit for what is stored in nanoseconds without a zone."""
    if not (pa.types.is_timestamp(stored) and pa.types.is_timestamp(hint)):
        return False
    if stored.unit == hint.unit:
        return hint.tz is not None
    return bool(stored.unit == "ns" and stored.tz is None)


def _layouts(stored: Any, hint: Any) -> bool:
    types = pa.types
    if types.is_string(stored):
        return bool(types.is_large_string(hint) or types.is_string_view(hint))
    as_bytes = types.is_large_binary(hint) or types.is_binary_view(hint)
    as_text = types.is_string(hint) or types.is_large_string(hint) or types.is_string_view(hint)
    return bool(types.is_binary(stored) and (as_bytes or as_text))


def _decimal_widths(stored: Any, hint: Any) -> bool:
    types = pa.types
    other = types.is_decimal32(hint) or types.is_decimal64(hint) or types.is_decimal256(hint)
    return bool(types.is_decimal128(stored) and other)


_REFINEMENTS: Final = (_integers_as_times, _days_as_milliseconds, _time_zones, _layouts, _decimal_widths)


def _does_not_fit(path: str, expected: str) -> MalformedData:
    return MalformedData(
        f"the Arrow schema embedded in the Parquet file does not fit the file at '{path}'", expected=expected
    )
