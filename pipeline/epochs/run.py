"""One step of a transform in this dialect: rows come as their records did, with the operations of those."""

from __future__ import annotations

from itertools import accumulate
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from opendatafabric.data.changelog import check_operations
from opendatafabric.errors import IncompatibleSchema
from pipeline.carried import to_frame
from pipeline.epochs.classify import POSITION
from pipeline.epochs.operations import Numbers, carried_operations
from pipeline.epochs.positions import check_query, with_positions
from pipeline.spark_steps import last_step
from pipeline.transform.in_spark import settings_inside
from pipeline.transform.records import new_records
from pipeline.transform.request import TransformRequest

_PARALLEL: Final = {"spark.sql.execution.arrow.localRelationThreshold": "1MB"}
"""Larger tables are computed in parallel; what Spark keeps in the plan itself is computed while it is planned."""


def run_transform(session: SparkSession, request: TransformRequest) -> pa.Table:
    """The rows of the last step with their operations.

    Raises:
        InvalidQuery, LimitExceeded: the queries do not hold, or need more than one record at a time.
        IncompatibleSchema: a query gives an operation of its own.
        MalformedData: a slice of an input cannot be read, or has an operation that there is not.
    """
    records = [new_records(each) for each in request.inputs]
    starts = [0, *accumulate(len(each) + 1 for each in records)]  # one between inputs: no record is beside another's
    operations = np.zeros(starts[-1], dtype=np.int32)
    frames: dict[str, DataFrame] = {}
    for given, table, start in zip(request.inputs, records, starts, strict=False):
        check_operations(table, given.vocabulary)
        found = table.column(given.vocabulary.operation_type_column)
        operations[start : start + len(table)] = found.to_numpy()
        with settings_inside(session, _PARALLEL):
            frames[given.alias] = _positioned(session, table, start)
    with last_step(session, frames, request.steps, check=check_query) as frame:
        result = with_positions(frame).toArrow()
    return _with_operations(result, operations, request.vocabulary.operation_type_column)


def _positioned(session: SparkSession, records: pa.Table, start: int) -> DataFrame:
    """The records, each with a position that queries do not see."""
    positions = pa.array(np.arange(start, start + len(records)), pa.int64())
    frame = to_frame(session, records.append_column(POSITION, positions))
    return frame.drop(POSITION)  # by no other name: inputs may have names that Spark takes for the same


def _with_operations(result: pa.Table, operations: Numbers, name: str) -> pa.Table:
    last = result.num_columns - 1
    positions, rows = result.column(last).to_numpy(), result.remove_column(last)
    if name in rows.column_names:
        raise IncompatibleSchema(
            f"the transform gives an operation '{name}' of its own",
            hint="leave it out of the query: records keep their operations in this dialect",
        )
    return rows.append_column(name, pa.array(carried_operations(positions, operations), pa.int32()))
