"""Reads the new records of an input from its slices."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from opendatafabric.data.arrow_storage import without_views
from opendatafabric.data.event_schema import arrow_schema
from opendatafabric.errors import MalformedData
from pipeline.declared import to_declared
from pipeline.transform.request import GivenInput


def new_records(given: GivenInput) -> pa.Table:
    """In the order of the offsets, operations as 32-bit numbers.

    Raises:
        MalformedData: a slice cannot be read.
    """
    schema = arrow_schema(given.schema).remove_metadata()
    index = schema.get_field_index(given.vocabulary.operation_type_column)
    if index >= 0:
        schema = schema.set(index, schema.field(index).with_type(pa.int32()))
    if given.interval is None:
        return schema.empty_table()
    nullable = pa.schema([field.with_nullable(True) for field in schema])
    records = _as_required(pa.concat_tables([_read(path, nullable) for path in given.slices]), schema)
    offsets = records.column(given.vocabulary.offset_column)
    wanted = pc.and_(pc.greater_equal(offsets, given.interval.start), pc.less_equal(offsets, given.interval.end))
    return records.filter(wanted)


def _read(path: object, schema: pa.Schema) -> pa.Table:
    """A slice; what is younger than it is null."""
    try:
        records = without_views(pq.read_table(str(path), partitioning=None))
    except (pa.ArrowException, OSError) as error:
        raise MalformedData(f"a slice of an input cannot be read: {error}") from None
    for field in schema:
        if field.name not in records.column_names:
            records = records.append_column(field.name, pa.nulls(len(records), field.type))
    return to_declared(records.select(schema.names), schema)


def _as_required(records: pa.Table, schema: pa.Schema) -> pa.Table:
    """With the columns required that ``schema`` requires, but for those that have nulls in older slices."""
    fields = [field if not records.column(field.name).null_count else field.with_nullable(True) for field in schema]
    return records.cast(pa.schema(fields))
