"""The steps of a transform in DataFusion: in process, in one partition, so that the order of rows is fixed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa

from opendatafabric.errors import EngineUnavailable, InvalidQuery
from opendatafabric.metadata.transform import SqlQueryStep
from pipeline.row_order import check_row_order

_MERGING: Final = ("CoalescePartitionsExec", "SortPreservingMergeExec", "RepartitionExec")
"""Nodes that take rows of several partitions as they come."""


def planned_steps(inputs: Mapping[str, pa.Table], steps: Sequence[SqlQueryStep], *, for_the_plan: bool = False) -> Any:
    """The result of the last step, not computed yet; ``inputs`` by the names that queries call them.

    Steps before it are computed with it, but for those that end in several partitions, unless it is done
    ``for_the_plan`` alone: their rows are put in order first.
    """
    from datafusion import SessionConfig, SessionContext, SQLOptions  # noqa: PLC0415

    context = SessionContext(SessionConfig().with_target_partitions(1).with_information_schema(False))
    for name, records in inputs.items():
        context.register_record_batches(_quoted(name), [_batches(records)])
    only_queries = SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
    for step in steps[:-1]:
        name, frame = _quoted(step.alias or ""), context.sql_with_options(step.query, only_queries)
        if for_the_plan or frame.execution_plan().partition_count == 1:
            context.register_view(name, frame)
        else:
            context.register_record_batches(name, [_batches(collected(frame))])
    return context.sql_with_options(steps[-1].query, only_queries)


def collected(frame: Any) -> pa.Table:
    """The rows, in an order that does not depend on which part of the work was done first.

    ``UNION`` makes partitions of its own: those that reach the end are taken one after the other. Where the plan merges
    them before, as they come, the rows are sorted by all their columns, whatever ORDER BY the query ends in.

    Raises:
        InvalidQuery: as ``check_row_order``.
    """
    from datafusion import col  # noqa: PLC0415

    check_row_order(frame)
    if any(name in frame.execution_plan().display_indent() for name in _MERGING):
        frame = frame.sort(*(col(f'"{name}"').sort() for name in frame.schema().names))
    batches = [batch for partition in frame.collect_partitioned() for batch in partition]
    return pa.Table.from_batches(batches, schema=batches[0].schema if batches else frame.schema())


@contextmanager
def told_as_ours() -> Iterator[None]:
    """What DataFusion raises comes out as errors of ours.

    Raises:
        EngineUnavailable: the package is not there.
        InvalidQuery: in the engine's words.
    """
    try:
        yield
    except InvalidQuery:
        raise
    except ImportError:
        raise EngineUnavailable("the package datafusion is not installed", hint="odf-repository[spark]") from None
    except pa.ArrowException as error:
        raise InvalidQuery(f"the query failed: {error}") from None
    except Exception as error:  # the package raises bare exceptions
        raise InvalidQuery(f"the query failed: {(str(error).splitlines() or [''])[0][:1_000]}") from None


def _quoted(name: str) -> str:
    """Plain names match in any case, as in the reference; dots in others are part of them."""
    return name if re.fullmatch(r"\w+", name, re.ASCII) else '"' + name.replace('"', '""') + '"'


def _batches(records: pa.Table) -> list[pa.RecordBatch]:
    return records.to_batches() or [_no_rows(records.schema)]


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.nulls(0, field.type) for field in schema], schema=schema)
