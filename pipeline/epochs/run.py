"""One step of a transform in this dialect: rows that come as their records did, or those of windows that are closed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from opendatafabric.data.changelog import check_operations
from pipeline.epochs.operations import Numbers, carried_operations, settled_rows
from pipeline.epochs.positions import check_query, with_positions
from pipeline.epochs.query import PARALLEL, check_operation, hidden_frame
from pipeline.epochs.remembering import may_remember, run_remembering
from pipeline.partitions import partitions
from pipeline.spark_steps import last_step
from pipeline.transform.in_spark import settings_inside
from pipeline.transform.records import new_records
from pipeline.transform.request import TransformRequest

_PIECES_FROM: Final = 100_000
"""Records: fewer are computed at once, which takes no job for each part of them."""


def run_transform(session: SparkSession, request: TransformRequest) -> Iterator[pa.Table]:
    """The rows of the last step with their operations, piece by piece.

    What has to be remembered is written where the request says.

    Raises:
        InvalidQuery, LimitExceeded: the queries do not hold, or ask what cannot be computed step by step.
        IncompatibleSchema: a query gives an operation of its own.
        MalformedData: a slice of an input, or the checkpoint, cannot be read, or has an operation that there is not.
        UnsupportedOperation: something has to be remembered, and the last step was not made by this dialect, or whoever
            asks does not know the blocks of the inputs.
    """
    remembered = run_remembering(session, request) if may_remember(request) else None
    if remembered is None:
        yield from _run_by_record(session, request)
    else:
        yield remembered


def _run_by_record(session: SparkSession, request: TransformRequest) -> Iterator[pa.Table]:
    frames, operations = _positioned(session, request)
    name = request.vocabulary.operation_type_column
    with last_step(session, frames, request.steps, check=check_query) as frame:
        check_operation(frame.columns, name)
        found = with_positions(frame)
        pieces = iter([found.toArrow()]) if len(operations) < _PIECES_FROM else partitions(found)
        for settled in _settled(pieces, operations):
            yield _with_operations(settled, operations, name)


def _positioned(session: SparkSession, request: TransformRequest) -> tuple[dict[str, DataFrame], Numbers]:
    """The inputs, each record with its position, and by that the operations of all. Spark has the records then."""
    records = [new_records(each) for each in request.inputs]
    starts = [0, *accumulate(len(each) + 1 for each in records)]  # one between inputs: no record is beside another's
    operations = np.zeros(starts[-1], dtype=np.int32)
    frames: dict[str, DataFrame] = {}
    for given, table, start in zip(request.inputs, records, starts, strict=False):
        check_operations(table, given.vocabulary)
        found = table.column(given.vocabulary.operation_type_column)
        operations[start : start + len(table)] = found.to_numpy()
        with settings_inside(session, PARALLEL):
            positions = pa.array(np.arange(start, start + len(table)), pa.int64())
            frames[given.alias] = hidden_frame(session, table, positions)
    return frames, operations


def _settled(pieces: Iterator[pa.Table], operations: Numbers) -> Iterator[pa.Table]:
    """The same rows; at the end of a piece they wait for what comes next, if their operation may follow from it."""
    held = next(pieces)
    for piece in pieces:
        rows = pa.concat_tables([held, piece])
        end = settled_rows(rows.column(rows.num_columns - 1).to_numpy(), operations)
        yield rows.slice(0, end)
        held = rows.slice(end)
    yield held


def _with_operations(result: pa.Table, operations: Numbers, name: str) -> pa.Table:
    last = result.num_columns - 1
    positions, rows = result.column(last).to_numpy(), result.remove_column(last)
    field = pa.field(name, pa.int32(), nullable=False)
    return rows.append_column(field, pa.array(carried_operations(positions, operations), pa.int32()))
