"""Types of columns in words that people read: ``Timestamp(ms, UTC)``, ``List(Int64)``; ``?`` where a value may miss."""

from __future__ import annotations

from typing import Final

from opendatafabric.metadata import data_schema as odf

_UNITS: Final = {
    odf.TimeUnit.SECOND: "s",
    odf.TimeUnit.MILLISECOND: "ms",
    odf.TimeUnit.MICROSECOND: "µs",
    odf.TimeUnit.NANOSECOND: "ns",
}


def type_words(data_type: odf.DataType) -> str:
    """The type, with what is inside it."""
    if isinstance(data_type, odf.DataTypeOption):
        return f"{type_words(data_type.inner)}?"
    inside = ", ".join(_inside(data_type))
    name = type(data_type).__name__.removeprefix("DataType")
    return f"{name}({inside})" if inside else name


def _inside(data_type: odf.DataType) -> list[str]:
    inside: list[str] = []
    match data_type:
        case odf.DataTypeDecimal(precision, scale):
            inside = [str(precision), str(scale)]
        case odf.DataTypeTimestamp(unit, zone):
            inside = [_UNITS[unit], *([] if zone is None else [zone])]
        case odf.DataTypeTime(unit) | odf.DataTypeDuration(unit):
            inside = [_UNITS[unit]]
        case odf.DataTypeList(item):
            inside = [type_words(item)]
        case odf.DataTypeMap(key, value):
            inside = [type_words(key), type_words(value)]
        case odf.DataTypeStruct(fields):
            inside = [f"{field.name}: {type_words(field.type)}" for field in fields]
    return inside
