"""Records in types that Spark can hold: wider numbers for unsigned ones, microseconds, plain text.

The values stay the same; ``declared.to_declared`` brings the types back. What Spark has no type for is refused.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from opendatafabric.errors import MalformedData
from pipeline.spark_api import frame_of_records

_WIDER: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
}


def to_frame(session: SparkSession, records: pa.Table) -> DataFrame:
    """The records for Spark, its partitions in the order of the rows.

    Raises:
        MalformedData: a type that Spark cannot hold; names the column.
    """
    carried = records.cast(_carried_schema(records.schema), safe=False)
    return frame_of_records(session, carried)


def spark_schema(schema: pa.Schema) -> StructType:
    """The columns of ``to_frame``; errors as there."""
    return from_arrow_schema(_carried_schema(schema))


def column_of(frame: DataFrame, name: str) -> Column:
    """The column of exactly that name, dots and quotes included."""
    return frame["`" + name.replace("`", "``") + "`"]


def _carried_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_type(_carried(field.type, field.name)) for field in schema])


def _carried(data_type: Any, path: str) -> pa.DataType:
    types = pa.types
    if types.is_struct(data_type):
        return pa.struct([field.with_type(_carried(field.type, f"{path}.{field.name}")) for field in data_type])
    if types.is_list(data_type) or types.is_large_list(data_type) or types.is_fixed_size_list(data_type):
        return pa.list_(data_type.value_field.with_type(_carried(data_type.value_type, f"{path}[]")))
    if types.is_timestamp(data_type):
        return pa.timestamp("us", None if data_type.tz is None else "UTC")
    if types.is_fixed_size_binary(data_type):
        return pa.binary()
    if types.is_dictionary(data_type):
        return _carried(data_type.value_type, path)
    if types.is_time(data_type) or types.is_decimal256(data_type) or types.is_duration(data_type):
        raise MalformedData(
            f"column '{path}' has type {data_type}, which Spark cannot hold", hint="convert it in a datafusion query"
        )
    return _WIDER.get(data_type, data_type)
