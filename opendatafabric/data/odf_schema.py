"""From ODF's schema of records to Arrow's: in the memory layout that a field's attributes ask for, or the usual one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from opendatafabric.data.arrow_schema import BUFFER_ENCODING, DATE_ENCODING, DECIMAL_ENCODING, TIME_UNITS
from opendatafabric.errors import MalformedData
from opendatafabric.metadata import data_schema as odf

_UNIT_NAMES: Final = {unit: name for name, unit in TIME_UNITS.items()}
_LENGTH_MAX: Final = 2**31 - 1
_DECIMALS: Final = {32: (pa.decimal32, 9), 64: (pa.decimal64, 18), 128: (pa.decimal128, 38), 256: (pa.decimal256, 76)}
_SCALE: Final = range(-128, 128)

Attributes = dict[str, Any]


def odf_schema_to_arrow(schema: odf.DataSchema) -> pa.Schema:
    """The schema in Arrow's form.

    Raises:
        MalformedData: lengths, precisions or scales beyond Arrow's; attributes that ask for an unknown encoding.
        MalformedInput: attributes that are no JSON object.
    """
    return pa.schema([_field(field, field.name) for field in schema.fields])


def _field(field: odf.DataField, path: str) -> pa.Field:
    attributes = {} if field.extra is None else field.extra.as_mapping()
    return _named(field.name, field.type, attributes, path)


def _named(name: str, data_type: odf.DataType, attributes: Attributes, path: str) -> pa.Field:
    nullable = isinstance(data_type, odf.DataTypeOption)
    while isinstance(data_type, odf.DataTypeOption):
        data_type = data_type.inner
    return pa.field(name, _type(data_type, attributes, path), nullable)


def _type(data_type: odf.DataType, attributes: Attributes, path: str) -> pa.DataType:
    if type(data_type) in _PLAIN:
        return _PLAIN[type(data_type)]
    return _BUILDERS[type(data_type)](data_type, attributes, path)


def _binary(data_type: Any, attributes: Attributes, path: str) -> pa.DataType:
    if data_type.fixed_length is not None:
        return pa.binary(_length(data_type.fixed_length, path))
    return _by_layout(attributes, path, (pa.binary, pa.large_binary, pa.binary_view, pa.binary_view))()


def _string(_: Any, attributes: Attributes, path: str) -> pa.DataType:
    return _by_layout(attributes, path, (pa.string, pa.large_string, pa.string_view, pa.string_view))()


def _list(data_type: Any, attributes: Attributes, path: str) -> pa.DataType:
    item = _named("item", data_type.item_type, {}, path + "[]")
    if data_type.fixed_length is not None:
        return pa.list_(item, _length(data_type.fixed_length, path))
    return _by_layout(attributes, path, (pa.list_, pa.large_list, pa.list_view, pa.large_list_view))(item)


def _by_layout(attributes: Attributes, path: str, layouts: tuple[Any, Any, Any, Any]) -> Any:
    """The one of narrow, large, view and large view that is asked for; runs are a matter of files, not of types."""
    narrow, large, view, large_view = layouts
    encoding = _attribute(attributes, BUFFER_ENCODING)
    wide = encoding.get("offsetBitWidth") == 64
    match encoding.get("kind", "Contiguous"):
        case "Contiguous":
            return large if wide else narrow
        case "View":
            return large_view if wide else view
        case "RunEnd":
            return narrow
        case other:
            raise MalformedData(f"field '{path}' asks for an unknown buffer encoding", found=other)


def _date(_: Any, attributes: Attributes, __: str) -> pa.DataType:
    return pa.date64() if _attribute(attributes, DATE_ENCODING).get("unit") == "Millisecond" else pa.date32()


def _decimal(data_type: Any, attributes: Attributes, path: str) -> pa.DataType:
    usual = 128 if data_type.precision <= _DECIMALS[128][1] else 256
    width = _attribute(attributes, DECIMAL_ENCODING).get("bitWidth", usual)
    build, precision_max = _DECIMALS.get(width, (None, 0))
    if build is None or not 1 <= data_type.precision <= precision_max or data_type.scale not in _SCALE:
        raise MalformedData(
            f"field '{path}' has a decimal that Arrow cannot hold",
            expected="a precision of 1 to 76, a scale of -128 to 127, a width that fits",
            found=f"precision {data_type.precision}, scale {data_type.scale}, {width} bits",
        )
    return build(data_type.precision, data_type.scale)


def _time(data_type: Any, _: Attributes, __: str) -> pa.DataType:
    unit = _UNIT_NAMES[data_type.unit]
    return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)


def _duration(data_type: Any, _: Attributes, __: str) -> pa.DataType:
    return pa.duration(_UNIT_NAMES[data_type.unit])


def _timestamp(data_type: Any, _: Attributes, __: str) -> pa.DataType:
    return pa.timestamp(_UNIT_NAMES[data_type.unit], data_type.timezone)


def _map(data_type: Any, _: Attributes, path: str) -> pa.DataType:
    keys = _named("keys", data_type.key_type, {}, path + ".keys").with_nullable(False)
    return pa.map_(keys, _named("values", data_type.value_type, {}, path + ".values"), bool(data_type.keys_sorted))


def _struct(data_type: Any, _: Attributes, path: str) -> pa.DataType:
    return pa.struct([_field(field, f"{path}.{field.name}") for field in data_type.fields])


def _attribute(attributes: Attributes, name: str) -> Attributes:
    found = attributes.get(name, {})
    return found if isinstance(found, dict) else {}


def _length(length: int, path: str) -> int:
    if length > _LENGTH_MAX:
        raise MalformedData(f"field '{path}' is too long for Arrow", expected=f"at most {_LENGTH_MAX}", found=length)
    return length


_PLAIN: Final[dict[type, pa.DataType]] = {
    odf.DataTypeNull: pa.null(),
    odf.DataTypeBool: pa.bool_(),
    odf.DataTypeInt8: pa.int8(),
    odf.DataTypeInt16: pa.int16(),
    odf.DataTypeInt32: pa.int32(),
    odf.DataTypeInt64: pa.int64(),
    odf.DataTypeUInt8: pa.uint8(),
    odf.DataTypeUInt16: pa.uint16(),
    odf.DataTypeUInt32: pa.uint32(),
    odf.DataTypeUInt64: pa.uint64(),
    odf.DataTypeFloat16: pa.float16(),
    odf.DataTypeFloat32: pa.float32(),
    odf.DataTypeFloat64: pa.float64(),
}
_BUILDERS: Final[dict[type, Callable[[Any, Attributes, str], pa.DataType]]] = {
    odf.DataTypeBinary: _binary,
    odf.DataTypeString: _string,
    odf.DataTypeList: _list,
    odf.DataTypeDate: _date,
    odf.DataTypeDecimal: _decimal,
    odf.DataTypeTime: _time,
    odf.DataTypeDuration: _duration,
    odf.DataTypeTimestamp: _timestamp,
    odf.DataTypeMap: _map,
    odf.DataTypeStruct: _struct,
}
