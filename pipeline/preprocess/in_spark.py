"""Preprocess queries of the engine ``spark``.

A query that goes row by row keeps the order of the input, which is one partition. Whatever shuffles rows (GROUP BY,
joins, DISTINCT, windows) would leave them in an order that depends on the number of partitions: such results are
sorted by all their columns, whatever ORDER BY the query ends in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from opendatafabric.errors import InvalidQuery
from opendatafabric.metadata.transform import SqlQueryStep
from pipeline.carried import column_of, to_frame
from pipeline.gate import dataframe

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
    to_frame(session, records).coalesce(1).createOrReplaceTempView("input")
    views = ["input"]
    try:
        for step in steps[:-1]:
            frame = dataframe(session, step.query, views)
            views.append(step.alias or "")
            frame.createOrReplaceTempView(views[-1])
        return _in_fixed_order(dataframe(session, steps[-1].query, views)).toArrow()
    except PySparkException as error:
        raise InvalidQuery(f"the preprocess query failed: {(str(error).splitlines() or [''])[0][:1_000]}") from None
    finally:
        for view in views:
            session.catalog.dropTempView(view)


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
