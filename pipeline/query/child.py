"""The process of one query: takes a request from its input, walls itself in, writes the records as an Arrow stream.

What goes wrong is told as JSON on the last line of standard error, with exit code 1. Nothing heavy is loaded before the
walls stand: threads of libraries would keep the sandbox from being entered.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from opendatafabric.errors import EngineUnavailable, InvalidQuery, OdfError
from pipeline.query.places import error_of_query
from pipeline.query.request import QueryLimits, QueryTable, request_from_json
from pipeline.query.table_names import STATE_FUNCTION
from pipeline.sandbox import enter_sandbox

if TYPE_CHECKING:
    import datafusion
    import pyarrow as pa

_PARTITIONS: Final = 2
_SPARE_BYTES: Final = 1024 * 1024 * 1024
"""What libraries and threads take themselves, most of it never touched."""
_NO_SANDBOX: Final = "this machine has no sandbox for queries of others"


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer the request that ``source`` holds, into ``sink``.

    Raises:
        InvalidQuery, LimitExceeded, MalformedData: it cannot be answered.
        EngineUnavailable: there is no DataFusion, or no sandbox where one has to be.
    """
    text = source.read()
    limits = _wall_in(json.loads(text))
    request = request_from_json(text)
    context = _context(limits)
    for table in request.tables:
        _register(context, table)
    _register_function(context, [table for table in request.tables if table.function])
    _write(request.sql, _answer(context, request.sql), sink, limits.rows)


def _wall_in(message: dict[str, Any]) -> QueryLimits:
    limits = QueryLimits(**message["limits"])
    folders = [Path(table["folder"]) for table in message["tables"]]
    files = [file.resolve() for folder in folders for file in folder.iterdir()]
    code = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2]]
    if not enter_sandbox(readable=[*code, *folders, *files], writable=[]) and limits.foreign:
        raise EngineUnavailable(_NO_SANDBOX, hint="allow user namespaces and Landlock")
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = limits.memory_bytes + _SPARE_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard if hard == resource.RLIM_INFINITY else min(hard, most)))
    return limits


def _context(limits: QueryLimits) -> datafusion.SessionContext:
    try:
        from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext  # noqa: PLC0415
    except ImportError:
        raise EngineUnavailable("the package datafusion is not installed", hint="odf-repository[query]") from None
    config = SessionConfig().with_target_partitions(_PARTITIONS).with_information_schema(False)
    runtime = RuntimeEnvBuilder().with_disk_manager_disabled().with_fair_spill_pool(limits.memory_bytes // 2)
    return SessionContext(config, runtime)


def _register(context: datafusion.SessionContext, table: QueryTable) -> None:
    """The table by its name; what ``to_table`` is to give, under a name that no query can write."""
    name = _quoted(_hidden(table) if table.function else table.name)
    if not (table.state or table.function):
        _register_slices(context, name, table)
        return
    from pipeline.reading.state import state_offsets  # noqa: PLC0415 - see above

    changelog, stays = _quoted(f"{name} changelog"), _quoted(f"{name} stays")
    _register_slices(context, changelog, table)
    offset = table.known.vocabulary.offset_column
    offsets = state_offsets(table.files(), table.known, table.as_of)
    context.register_record_batches(stays, [[_batch(offsets, offset)]])
    column = _quoted(offset)
    view = context.sql(f"SELECT * FROM {changelog} WHERE {column} IN (SELECT {column} FROM {stays})")
    context.register_table(name, view.into_view())


def _register_slices(context: datafusion.SessionContext, name: str, table: QueryTable) -> None:
    if table.files():
        context.register_listing_table(name, table.folder, file_extension="", schema=table.known.schema)
    else:
        context.register_record_batches(name, [[_none(table)]])


def _none(table: QueryTable) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415

    return pa.RecordBatch.from_pylist([], schema=table.known.schema)


def _batch(offsets: pa.Array, name: str) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415

    return pa.RecordBatch.from_arrays([offsets], [name])


def _register_function(context: datafusion.SessionContext, tables: list[QueryTable]) -> None:
    from datafusion import udtf  # noqa: PLC0415

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


def _answer(context: datafusion.SessionContext, sql: str) -> datafusion.DataFrame:
    from datafusion import SQLOptions  # noqa: PLC0415

    only_reads = SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
    with _told_by_engine(sql):
        return context.sql_with_options(sql, only_reads)


def _write(sql: str, answer: datafusion.DataFrame, sink: BinaryIO, rows_max: int | None) -> None:
    import pyarrow as pa  # noqa: PLC0415

    with _told_by_engine(sql):
        schema, batches = answer.schema(), iter(answer.execute_stream())
    left = sys.maxsize if rows_max is None else rows_max
    with pa.ipc.new_stream(sink, schema) as stream:
        while left > 0 and (batch := _next(sql, batches)) is not None:
            found = pa.RecordBatch.from_arrays(batch.columns, schema=schema).slice(0, left)
            stream.write_batch(found)
            left -= found.num_rows


def _next(sql: str, batches: Iterator[Any]) -> pa.RecordBatch | None:
    with _told_by_engine(sql):
        batch = next(batches, None)
    return None if batch is None else batch.to_pyarrow()


@contextmanager
def _told_by_engine(sql: str) -> Iterator[None]:
    """The engine's errors are bare exceptions, and its panics not even that."""
    try:
        yield
    except BaseException as error:
        raise error_of_query(sql, str(error)) from None


def _run() -> int:
    """``main`` between standard input and output; the exit code."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        with sink:
            main(sys.stdin.buffer, sink)
    except BrokenPipeError:
        return 1  # whoever asked has gone
    except OdfError as error:
        told = error
    except Exception as error:
        told = OdfError(f"the query failed: {type(error).__name__}: {error}"[:1_000])
    else:
        return 0
    sys.stderr.write(json.dumps(told.as_dict()) + "\n")
    sys.stderr.flush()
    return 1


if __name__ == "__main__":
    # Threads of the engine do not outlive the interpreter well.
    os._exit(_run())
