"""Schemas of records in Arrow's form and in ODF's (RFC-016), and the legacy bytes that older blocks hold.

ODF's types say what a value is and not how memory holds it. What Arrow adds (large and view layouts, milliseconds for
days, widths of decimals) goes into attributes of the field when asked for; blocks usually leave it out. Metadata of
Arrow fields and schemas is not carried over. Nullable becomes ``Option``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from opendatafabric.data.arrow_storage import storage_type
from opendatafabric.errors import MalformedData
from opendatafabric.metadata import data_schema as odf
from opendatafabric.metadata.attributes import ExtraAttributes

BUFFER_ENCODING: Final = "arrow.apache.org/bufferEncoding"
DATE_ENCODING: Final = "arrow.apache.org/dateEncoding"
DECIMAL_ENCODING: Final = "arrow.apache.org/decimalEncoding"

TIME_UNITS: Final = {
    "s": odf.TimeUnit.SECOND,
    "ms": odf.TimeUnit.MILLISECOND,
    "us": odf.TimeUnit.MICROSECOND,
    "ns": odf.TimeUnit.NANOSECOND,
}
_CONTIGUOUS_32: Final = {BUFFER_ENCODING: {"kind": "Contiguous", "offsetBitWidth": 32}}
_CONTIGUOUS_64: Final = {BUFFER_ENCODING: {"kind": "Contiguous", "offsetBitWidth": 64}}
_VIEW_32: Final = {BUFFER_ENCODING: {"kind": "View", "offsetBitWidth": 32}}
_VIEW_64: Final = {BUFFER_ENCODING: {"kind": "View", "offsetBitWidth": 64}}

Encoding = dict[str, dict[str, Any]]
"""Attributes that say how Arrow holds the values; empty where there is one way only."""


def arrow_schema_to_odf(schema: pa.Schema, *, encodings: bool = False) -> odf.DataSchema:
    """The schema in ODF's form; ``encodings`` keeps how Arrow holds the values as attributes of the fields.

    Raises:
        MalformedData: intervals, unions, dictionaries, and maps of keys or values that would need an attribute; names
            that are not UTF-8.
    """
    try:
        return odf.DataSchema(tuple(_field(field, field.name, encodings) for field in schema))
    except UnicodeDecodeError as error:
        raise MalformedData(f"the Arrow schema holds a name that is not UTF-8: {error}") from None


def read_legacy_schema(data: bytes) -> pa.Schema:
    """The Arrow schema of an older SetDataSchema: a FlatBuffer of a ``Schema`` table without a message around it.

    Raises:
        MalformedData: not such a FlatBuffer, or types that Arrow does not know.
    """
    try:
        return pa.ipc.read_schema(pa.py_buffer(_as_message(data)))
    except (pa.ArrowException, OSError, ValueError, TypeError, struct.error) as error:
        raise MalformedData(f"the legacy Arrow schema cannot be read: {error}", hint="it is kept as it is") from None


def _as_message(schema: bytes) -> bytes:
    """Put a message envelope before the schema; offsets inside it are relative and stay right.

    The envelope is itself a FlatBuffer: root offset, vtable, and a table of header, version, kind and body length.
    """
    (root,) = struct.unpack_from("<I", schema)
    envelope_bytes, table, header_field = 40, 20, 24
    vtable = struct.pack("<6H", 12, 20, 8, 10, 4, 12)
    version_5, kind_schema = 4, 1
    fields = struct.pack("<iIhBxq", table - 8, envelope_bytes + root - header_field, version_5, kind_schema, 0)
    message = struct.pack("<I4x", table) + vtable + fields + schema
    message += bytes(-len(message) % 8)
    return struct.pack("<iI", -1, len(message)) + message


def _field(field: pa.Field, path: str, encodings: bool) -> odf.DataField:
    data_type, encoding = _type(field.type, path, encodings)
    extra = ExtraAttributes.from_mapping(encoding) if encodings and encoding else None
    return odf.DataField(field.name, _optional(data_type, field), extra)


def _optional(data_type: odf.DataType, field: pa.Field) -> odf.DataType:
    return odf.DataTypeOption(data_type) if field.nullable else data_type


def _type(data_type: Any, path: str, encodings: bool) -> tuple[odf.DataType, Encoding]:
    """The ODF type and the attributes that its Arrow form needs."""
    data_type = storage_type(data_type)
    simple = _SIMPLE.get(data_type.id)
    if simple is not None:
        return simple(data_type)
    nested = _NESTED.get(data_type.id)
    if nested is None:
        raise MalformedData(f"field '{path}' of Arrow type {data_type} has no ODF type")
    return nested(data_type, path, encodings)


def _list(encoding: Encoding) -> Callable[[Any, str, bool], tuple[odf.DataType, Encoding]]:
    return lambda data_type, path, encodings: (odf.DataTypeList(_item(data_type, path, encodings)), encoding)


def _fixed_list(data_type: Any, path: str, encodings: bool) -> tuple[odf.DataType, Encoding]:
    return odf.DataTypeList(_item(data_type, path, encodings), data_type.list_size), {}


def _item(data_type: Any, path: str, encodings: bool) -> odf.DataType:
    """Items have no attributes of their own: their encoding is left out."""
    item, _ = _type(data_type.value_type, path + "[]", encodings)
    return _optional(item, data_type.value_field)


def _struct(data_type: Any, path: str, encodings: bool) -> tuple[odf.DataType, Encoding]:
    return odf.DataTypeStruct(tuple(_field(field, f"{path}.{field.name}", encodings) for field in data_type)), {}


def _map(data_type: Any, path: str, encodings: bool) -> tuple[odf.DataType, Encoding]:
    key, key_encoding = _type(data_type.key_type, path + ".keys", encodings)
    value, value_encoding = _type(data_type.item_type, path + ".values", encodings)
    if key_encoding or value_encoding:
        raise MalformedData(f"field '{path}' of Arrow type {data_type} has no ODF type: its entries need attributes")
    return odf.DataTypeMap(key, _optional(value, data_type.item_field), data_type.keys_sorted), {}


def _run_end_encoded(data_type: Any, path: str, encodings: bool) -> tuple[odf.DataType, Encoding]:
    value, _ = _type(data_type.value_type, path, encodings)
    return value, {BUFFER_ENCODING: {"kind": "RunEnd", "runEndsBitWidth": data_type.run_end_type.bit_width}}


def _always(
    data_type: odf.DataType, encoding: Encoding | None = None
) -> Callable[[Any], tuple[odf.DataType, Encoding]]:
    return lambda _: (data_type, encoding or {})


def _decimal(data_type: Any) -> tuple[odf.DataType, Encoding]:
    decimal = odf.DataTypeDecimal(data_type.precision, data_type.scale)
    return decimal, {DECIMAL_ENCODING: {"bitWidth": data_type.bit_width}}


def _time(data_type: Any) -> tuple[odf.DataType, Encoding]:
    return odf.DataTypeTime(TIME_UNITS[data_type.unit]), {}


_SIMPLE: Final[dict[int, Callable[[Any], tuple[odf.DataType, Encoding]]]] = {
    pa.null().id: _always(odf.DataTypeNull()),
    pa.bool_().id: _always(odf.DataTypeBool()),
    pa.int8().id: _always(odf.DataTypeInt8()),
    pa.int16().id: _always(odf.DataTypeInt16()),
    pa.int32().id: _always(odf.DataTypeInt32()),
    pa.int64().id: _always(odf.DataTypeInt64()),
    pa.uint8().id: _always(odf.DataTypeUInt8()),
    pa.uint16().id: _always(odf.DataTypeUInt16()),
    pa.uint32().id: _always(odf.DataTypeUInt32()),
    pa.uint64().id: _always(odf.DataTypeUInt64()),
    pa.float16().id: _always(odf.DataTypeFloat16()),
    pa.float32().id: _always(odf.DataTypeFloat32()),
    pa.float64().id: _always(odf.DataTypeFloat64()),
    pa.string().id: _always(odf.DataTypeString(), _CONTIGUOUS_32),
    pa.large_string().id: _always(odf.DataTypeString(), _CONTIGUOUS_64),
    pa.string_view().id: _always(odf.DataTypeString(), _VIEW_32),
    pa.binary().id: _always(odf.DataTypeBinary(), _CONTIGUOUS_32),
    pa.large_binary().id: _always(odf.DataTypeBinary(), _CONTIGUOUS_64),
    pa.binary_view().id: _always(odf.DataTypeBinary(), _VIEW_32),
    pa.binary(1).id: lambda data_type: (odf.DataTypeBinary(data_type.byte_width), {}),
    pa.date32().id: _always(odf.DataTypeDate()),
    pa.date64().id: _always(odf.DataTypeDate(), {DATE_ENCODING: {"unit": "Millisecond"}}),
    pa.time32("s").id: _time,
    pa.time64("us").id: _time,
    pa.duration("s").id: lambda data_type: (odf.DataTypeDuration(TIME_UNITS[data_type.unit]), {}),
    pa.timestamp("s").id: lambda data_type: (odf.DataTypeTimestamp(TIME_UNITS[data_type.unit], data_type.tz), {}),
    pa.decimal32(1).id: _decimal,
    pa.decimal64(1).id: _decimal,
    pa.decimal128(1).id: _decimal,
    pa.decimal256(1).id: _decimal,
}
_NESTED: Final[dict[int, Callable[[Any, str, bool], tuple[odf.DataType, Encoding]]]] = {
    pa.list_(pa.null()).id: _list(_CONTIGUOUS_32),
    pa.large_list(pa.null()).id: _list(_CONTIGUOUS_64),
    pa.list_view(pa.null()).id: _list(_VIEW_32),
    pa.large_list_view(pa.null()).id: _list(_VIEW_64),
    pa.list_(pa.null(), 1).id: _fixed_list,
    pa.struct([]).id: _struct,
    pa.map_(pa.int8(), pa.int8()).id: _map,
    pa.run_end_encoded(pa.int32(), pa.null()).id: _run_end_encoded,
}
