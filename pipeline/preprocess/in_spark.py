"""Preprocess queries of the engine ``spark``.

A query that goes row by row keeps the order of the input, which is one partition. Whatever shuffles rows (GROUP BY,
joins, DISTINCT, windows) would leave them in an order that depends on the number of partitions: such results are
sorted by all their columns, whatever ORDER BY the query ends in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from opendatafabric.metadata.transform import SqlQueryStep
from pipeline.carried import column_of, to_frame
from pipeline.spark_steps import last_step

_ROW_BY_ROW: Final = {
    "Project",
    "Filter",
    "Generate",
    "SubqueryAlias",
    "View",
    "Repartition",
    "LogicalRDD",
    "LocalRelation",
}


def run_queries(session: SparkSession, records: pa.Table, steps: Sequence[SqlQueryStep]) -> pa.Table:
    """The result of the last step; errors as ``run_preprocess``."""
    with last_step(session, {"input": to_frame(session, records).coalesce(1)}, steps) as frame:
        return _in_fixed_order(frame).toArrow()


def _in_fixed_order(frame: DataFrame) -> DataFrame:
    if _node_names(frame._jdf.queryExecution().analyzed()) <= _ROW_BY_ROW:
        return frame
    return frame.orderBy(*(column_of(frame, name) for name in frame.columns))


def _node_names(plan: Any) -> set[str]:
    children = plan.children()
    names = {plan.nodeName()}
    for index in range(children.size()):
        names |= _node_names(children.apply(index))
    return names
