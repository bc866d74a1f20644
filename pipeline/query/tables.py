"""Slices as tables of DataFusion, and queries over them. Runs in the process of a query; errors name their place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
from datafusion import (
    DataFrame,
    RuntimeEnvBuilder,
    SessionConfig,
    SessionContext,
    SQLOptions,
    udtf,
)

from opendatafabric.errors import InvalidQuery
from pipeline.query.places import error_of_query
from pipeline.query.request import QueryLimits, QueryRequest, QueryTable
from pipeline.query.table_names import STATE_FUNCTION
from storage.records.state import state_offsets

_PARTITIONS: Final = 2


class SqlAnswer:
    """The answer to a query: ``schema``, then batches as they are computed.

    Raises:
        InvalidQuery: it is no query, does more than read, or does not hold.
        LimitExceeded: it took too much memory.
    """

    def __init__(self, request: QueryRequest) -> None:
        self._sql = request.sql
        context = _context(request.limits)
        for table in request.tables:
            _register(context, table)
        _register_function(context, [table for table in request.tables if table.function])
        frame = _frame(context, self._sql)
        with _told_by_engine(self._sql):
            self.schema: pa.Schema = frame.schema()
            self._batches = iter(frame.execute_stream())

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while True:
            with _told_by_engine(self._sql):
                batch: Any = next(self._batches, None)
            if batch is None:
                return
            yield pa.RecordBatch.from_arrays(batch.to_pyarrow().columns, schema=self.schema)


def _context(limits: QueryLimits) -> SessionContext:
    config = SessionConfig().with_target_partitions(_PARTITIONS).with_information_schema(False)
    runtime = RuntimeEnvBuilder().with_disk_manager_disabled().with_fair_spill_pool(limits.memory_bytes // 2)
    return SessionContext(config, runtime)


def _register(context: SessionContext, table: QueryTable) -> None:
    """The table by its name; what ``to_table`` is to give, under a name that no query can write."""
    name = _quoted(_hidden(table) if table.function else table.name)
    if not (table.state or table.function):
        _register_slices(context, name, table)
        return
    changelog, stays = _quoted(f"{name} changelog"), _quoted(f"{name} stays")
    _register_slices(context, changelog, table)
    offset = table.known.vocabulary.offset_column
    offsets = state_offsets(table.files(), table.known, table.as_of)
    context.register_record_batches(stays, [[_batch(offsets, offset)]])
    column = _quoted(offset)
    view = context.sql(f"SELECT * FROM {changelog} WHERE {column} IN (SELECT {column} FROM {stays})")
    context.register_table(name, view.into_view())


def _register_slices(context: SessionContext, name: str, table: QueryTable) -> None:
    if table.files():
        context.register_listing_table(name, table.folder, file_extension="", schema=table.known.schema)
    else:
        context.register_record_batches(name, [[_none(table)]])


def _none(table: QueryTable) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=table.known.schema)


def _batch(offsets: pa.Array, name: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([offsets], [name])


def _register_function(context: SessionContext, tables: list[QueryTable]) -> None:
    catalog = context.catalog().schema()
    known = {table.name: catalog.table(_hidden(table)) for table in tables}

    def to_table(*arguments: Any) -> Any:
        try:
            (name,) = [argument.python_value().as_py() for argument in arguments]
            return known[name]
        except (TypeError, ValueError, KeyError):
            raise InvalidQuery(f"{STATE_FUNCTION} takes the name of a dataset in single quotes") from None

    context.register_udtf(udtf(to_table, STATE_FUNCTION))


def _hidden(table: QueryTable) -> str:
    return f"{STATE_FUNCTION} {table.name}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _frame(context: SessionContext, sql: str) -> DataFrame:
    only_reads = SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
    with _told_by_engine(sql):
        return context.sql_with_options(sql, only_reads)


@contextmanager
def _told_by_engine(sql: str) -> Iterator[None]:
    """The engine's errors are bare exceptions, and its panics not even that."""
    try:
        yield
    except BaseException as error:
        raise error_of_query(sql, str(error)) from None
