"""Transforms of the engine ``datafusion``, as the reference has it: all new records of each input in one partition.

Its queries have no gate but for functions that would give another result each time: their SQL reaches nothing but the
tables that were registered, and the process is walled in.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from opendatafabric.data.arrow_storage import without_views
from opendatafabric.errors import InvalidQuery, MalformedData
from pipeline.datafusion_steps import collected, planned_steps, told_as_ours
from pipeline.declared import to_declared
from pipeline.prepared import arrow_schema
from pipeline.sql_text import Dialect, Token, TokenKind, line_and_column, tokens
from pipeline.transform.request import GivenInput, TransformRequest

_CHANGING: Final = frozenset(
    {"current_date", "current_time", "current_timestamp", "now", "random", "today", "uuid", "version"}
)
"""Functions that ask the clock, chance or the engine itself."""


def run_transform(request: TransformRequest) -> pa.Table:
    """The rows of the last step; errors as ``compute``."""
    for step in request.steps:
        _check_repeatable(step.query)
    inputs = {each.alias: _records(each) for each in request.inputs}
    with told_as_ours():
        return collected(planned_steps(inputs, request.steps))


def _check_repeatable(sql: str) -> None:
    """That no function is called whose result is another on another day, or each time."""
    pieces = [*tokens(sql, Dialect.STANDARD), Token(TokenKind.MARK, "", len(sql))]
    for name, mark in pairwise(pieces):
        word = name.text.strip('"`').lower()
        is_called = mark.text == "(" or (name.kind is TokenKind.WORD and word.startswith("current_"))
        if name.kind is not TokenKind.STRING and word in _CHANGING and is_called:
            raise InvalidQuery(
                f"the query uses '{word}', which gives another result each time"
                f" (line {line_and_column(sql, name.start)})",
                hint="use event_time or system_time of the records; derive other values from them, e.g. by sha256",
            )


def _records(given: GivenInput) -> pa.Table:
    """In the order of the offsets, operations as 32-bit numbers."""
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
