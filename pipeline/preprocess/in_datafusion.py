"""Preprocess queries of the engine ``datafusion``: in process, in one partition, so that the order of rows is fixed.

A query that goes row by row is run on one piece of the input after the other, any other on all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from opendatafabric.errors import EngineUnavailable, InvalidQuery
from opendatafabric.metadata.transform import SqlQueryStep

_ROW_BY_ROW: Final = {"Projection", "Filter", "SubqueryAlias", "TableScan"}
"""Nodes of plans whose result for a row does not depend on other rows."""


def run_queries(pieces: Iterator[pa.Table], steps: Sequence[SqlQueryStep]) -> Iterator[pa.Table]:
    """The result of the last step; errors as ``run_preprocess``."""
    first = next(pieces)
    with _told_as_ours():
        goes_row_by_row = _goes_row_by_row(_planned(first.slice(0, 0), steps))
    pieces = chain([first], pieces)
    for piece in pieces if goes_row_by_row else iter([pa.concat_tables(pieces)]):
        with _told_as_ours():
            result = _planned(piece, steps).to_arrow_table()
        yield result


def _planned(records: pa.Table, steps: Sequence[SqlQueryStep]) -> Any:
    from datafusion import SessionConfig, SessionContext, SQLOptions  # noqa: PLC0415

    context = SessionContext(SessionConfig().with_target_partitions(1).with_information_schema(False))
    context.register_record_batches("input", [records.to_batches() or [_no_rows(records.schema)]])
    only_queries = SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
    for step in steps[:-1]:
        context.register_view(step.alias or "", context.sql_with_options(step.query, only_queries))
    return context.sql_with_options(steps[-1].query, only_queries)


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.nulls(0, field.type) for field in schema], schema=schema)


def _goes_row_by_row(frame: Any) -> bool:
    """By the names that begin the lines of its plan. A text with line breaks in the query at worst says no."""
    plan = frame.logical_plan().display_indent()
    names = [line.split(":")[0].strip() for line in plan.splitlines()]
    return names.count("TableScan") == 1 and set(names) <= _ROW_BY_ROW


@contextmanager
def _told_as_ours() -> Iterator[None]:
    try:
        yield
    except ImportError:
        raise EngineUnavailable("the package datafusion is not installed", hint="odf-repository[spark]") from None
    except pa.ArrowException as error:
        raise InvalidQuery(f"the preprocess query failed: {error}") from None
    except Exception as error:  # the package raises bare exceptions
        raise InvalidQuery(f"the preprocess query failed: {str(error).splitlines()[0][:1_000]}") from None
