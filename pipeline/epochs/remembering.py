"""Queries that look at more than one record: what was kept of earlier steps and what is new, through an operator.

An operator gives rows and says what it still needs (``records.py``); that is the checkpoint of the step. Which operator
a query asks for is read from its plan: windows by ``window_shape.py``, all others by ``operators.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from opendatafabric.data.changelog import OperationType
from opendatafabric.errors import UnsupportedOperation
from pipeline.epochs.aggregates import check_aggregates
from pipeline.epochs.checkpoint import read_checkpoint, write_checkpoint
from pipeline.epochs.found_rows import FoundRows
from pipeline.epochs.grouping import aggregates_of
from pipeline.epochs.operators import operator_of
from pipeline.epochs.positions import nodes_of, with_positions
from pipeline.epochs.query import EpochQuery
from pipeline.epochs.records import EpochResult, EpochStep, TaggedRecords, in_milliseconds, tagged_records
from pipeline.epochs.row_order import in_canonical_order
from pipeline.epochs.temporal_tables import empty_tables, temporal_tables
from pipeline.epochs.window_query import run_windows
from pipeline.epochs.window_shape import check_result, window_shape
from pipeline.gate import AnalyzedQuery
from pipeline.sql_text import place_of
from pipeline.transform.output import check_schema
from pipeline.transform.request import Memory, TransformRequest

_WORDS: Final = ("distinct", "group", "join", "union")
"""Without any of them a query looks at one record at a time, or is refused."""

Computed = Callable[[EpochStep], EpochResult]


def may_remember(request: TransformRequest) -> bool:
    """Whether a query may have to remember records; its plan says whether it has to."""
    return any(place_of(step.query, word) for step in request.steps for word in _WORDS)


def run_remembering(session: SparkSession, request: TransformRequest) -> pa.Table | None:
    """The rows of a step in canonical order, what has to be remembered being written; ``None`` if nothing has to be.

    Raises:
        InvalidQuery, LimitExceeded, IncompatibleSchema, MalformedData, UnsupportedOperation: as ``run_transform``.
    """
    computed = _computed(EpochQuery(session, request))
    if computed is None:
        return None
    if request.memory is None:
        raise UnsupportedOperation(
            "the query has to remember records, and the blocks that brought them are not known here",
            hint="run it by odf pull: the engine contract says nothing of blocks",
        )
    result = computed(_step(request, request.memory))
    write_checkpoint(request.memory.made, result.kept)
    return _in_order(result, request)


def _computed(query: EpochQuery) -> Computed | None:
    """By the last step of the query; all of them are looked at."""
    tables = temporal_tables(query.request)
    event_times = {each.alias.lower(): each.vocabulary.event_time_column for each in query.request.inputs}
    found: list[Computed | None] = []

    def look_at(step: AnalyzedQuery) -> None:
        operator = operator_of(step.sql, nodes_of(step), event_times, tables)
        if operator is None:
            found.append(_windows(step, event_times, query))
        else:
            found.append(lambda epochs: operator(epochs, lambda given: _found(query, given)))

    empty = empty_tables(query.request, tables)
    with query.over(empty, [pa.nulls(0, pa.int64())] * len(empty), look_at):
        return found[-1]


def _windows(step: AnalyzedQuery, event_times: Mapping[str, str], query: EpochQuery) -> Computed | None:
    nodes = nodes_of(step)
    shape = window_shape(step.sql, nodes, event_times)
    if shape is None:
        return None
    check_aggregates(step.sql, aggregates_of(step.frame, nodes))
    if step.sql == query.request.steps[-1].query:
        check_result(shape, nodes, query.request.vocabulary.event_time_column)
    return lambda epochs: run_windows(shape, epochs, query)


def _found(query: EpochQuery, given: Sequence[pa.Table]) -> FoundRows:
    starts = accumulate((len(table) for table in given), initial=0)
    hidden = [pa.array(np.arange(start, start + len(table))) for start, table in zip(starts, given, strict=False)]
    with query.over(given, hidden) as frame:
        count = len(frame.columns)
        found = with_positions(frame).toArrow()
    positions = [found.column(index).fill_null(-1).to_numpy() for index in range(count, found.num_columns)]
    order = np.lexsort(positions[::-1])
    rows = found.select(list(range(count))).take(pa.array(order))
    return FoundRows(rows, tuple(each[order] for each in positions))


def _step(request: TransformRequest, memory: Memory) -> EpochStep:
    before = in_milliseconds(memory.watermark_before)
    new = [tagged_records(each, before) for each in request.inputs]
    kept: Sequence[TaggedRecords] = [each.none() for each in new]
    if memory.checkpoint is not None:
        kept = read_checkpoint(memory.checkpoint, kept)
    inputs = [one.followed_by(other) for one, other in zip(kept, new, strict=True)]
    is_new = [np.arange(len(both)) >= len(one) for one, both in zip(kept, inputs, strict=True)]
    return EpochStep(tuple(inputs), tuple(is_new), before, in_milliseconds(memory.watermark))


def _in_order(result: EpochResult, request: TransformRequest) -> pa.Table:
    check_schema(result.rows.schema, request.vocabulary)
    operations = np.where(result.signs > 0, OperationType.APPEND, OperationType.RETRACT)
    name = request.vocabulary.operation_type_column
    rows = result.rows.append_column(pa.field(name, pa.int32(), nullable=False), pa.array(operations, pa.int32()))
    return in_canonical_order(rows, request.vocabulary.event_time_column)
