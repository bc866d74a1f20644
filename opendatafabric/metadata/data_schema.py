"""Schema of the records of a dataset (RFC-016), independent of Arrow and Parquet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from opendatafabric.metadata.slices import ExtraAttributes
from opendatafabric.metadata.wire_types import I32, U32, U64


class TimeUnit(Enum):
    """Resolution of times; stored as i16."""

    SECOND = 0
    MILLISECOND = 1
    MICROSECOND = 2
    NANOSECOND = 3


@dataclass(frozen=True, slots=True)
class DataTypeBinary:
    fixed_length: U64 | None = None


@dataclass(frozen=True, slots=True)
class DataTypeBool:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeDate:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeDecimal:
    precision: U32
    scale: I32


@dataclass(frozen=True, slots=True)
class DataTypeDuration:
    unit: TimeUnit


@dataclass(frozen=True, slots=True)
class DataTypeFloat16:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeFloat32:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeFloat64:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeInt8:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeInt16:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeInt32:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeInt64:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeUInt8:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeUInt16:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeUInt32:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeUInt64:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeList:
    item_type: DataType
    fixed_length: U64 | None = None


@dataclass(frozen=True, slots=True)
class DataTypeMap:
    key_type: DataType
    value_type: DataType
    keys_sorted: bool | None = None


@dataclass(frozen=True, slots=True)
class DataTypeNull:
    pass


@dataclass(frozen=True, slots=True)
class DataTypeOption:
    """A value that may be missing."""

    inner: DataType


@dataclass(frozen=True, slots=True)
class DataTypeStruct:
    fields: tuple[DataField, ...]


@dataclass(frozen=True, slots=True)
class DataTypeTime:
    unit: TimeUnit


@dataclass(frozen=True, slots=True)
class DataTypeTimestamp:
    unit: TimeUnit
    timezone: str | None = None


@dataclass(frozen=True, slots=True)
class DataTypeString:
    pass


DataType = (
    DataTypeBinary
    | DataTypeBool
    | DataTypeDate
    | DataTypeDecimal
    | DataTypeDuration
    | DataTypeFloat16
    | DataTypeFloat32
    | DataTypeFloat64
    | DataTypeInt8
    | DataTypeInt16
    | DataTypeInt32
    | DataTypeInt64
    | DataTypeUInt8
    | DataTypeUInt16
    | DataTypeUInt32
    | DataTypeUInt64
    | DataTypeList
    | DataTypeMap
    | DataTypeNull
    | DataTypeOption
    | DataTypeStruct
    | DataTypeTime
    | DataTypeTimestamp
    | DataTypeString
)
"""Members in the order of their union ids, from 1."""


@dataclass(frozen=True, slots=True)
class DataField:
    name: str
    type: DataType
    extra: ExtraAttributes | None = None


@dataclass(frozen=True, slots=True)
class DataSchema:
    fields: tuple[DataField, ...]
    extra: ExtraAttributes | None = None
