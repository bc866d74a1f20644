"""What versions of Spark call otherwise: all that is known here of other ones than that of the installed package."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession


def is_older() -> bool:
    """Whether this is a Spark before version 4, which is driven for replays alone."""
    return not hasattr(DataFrame, "toArrow")


JAVA_PACKAGES_OF_VERSION: Final = (
    ("org.apache.spark.sql.*",)
    if is_older()
    else ("org.apache.spark.sql.Encoders", "org.apache.spark.sql.functions", "org.apache.spark.sql.classic.*")
)
"""What pyspark expects to find imported in its JVM, besides what it always does."""


def frame_of(session: SparkSession, plan: Any) -> DataFrame:
    """The records that a parsed plan gives."""
    sql: Any = session.sparkContext._jvm.org.apache.spark.sql  # type: ignore[union-attr,unused-ignore]
    datasets = sql.Dataset if is_older() else sql.classic.Dataset
    return DataFrame(datasets.ofRows(session._jsparkSession, plan), session)


def arrow_of(frame: DataFrame) -> pa.Table:
    """All its rows, partition after partition."""
    if not is_older():
        return frame.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - another signature in newer ones

    older: Any = frame
    batches = older._collect_as_arrow()
    return pa.Table.from_batches(batches, batches[0].schema if batches else to_arrow_schema(frame.schema))


def frame_of_records(session: SparkSession, records: pa.Table) -> DataFrame:
    """The records for Spark, its partitions in the order of the rows."""
    if not is_older():
        return session.createDataFrame(records)  # type: ignore[call-overload,no-any-return,unused-ignore]
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415

    rows = [tuple(row.values()) for row in records.to_pylist()]
    return session.createDataFrame(rows, from_arrow_schema(records.schema))
