"""The query between reading and merging, in the engine that it names (spec: Preprocessing).

Without one, and without a declared schema, a small default step makes the columns fit: system names are moved out of
the way, an event time given as a number or text becomes a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from opendatafabric.errors import UnsupportedOperation
from opendatafabric.metadata.transform import SqlQueryStep, Transform

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_preprocess(open_session: Callable[[], SparkSession], records: pa.Table, transform: Transform) -> pa.Table:
    """What the query of ``transform`` makes of ``records``, its table ``input``.

    The order of rows is that of the input where the query goes row by row, else it does not depend on how the engine
    divides its work.

    Raises:
        InvalidQuery: the query cannot be run; the message is the engine's.
        UnsupportedOperation: an engine that is not there.
        MalformedData: types that the engine cannot hold.
    """
    steps = transform.queries or (SqlQueryStep(query=transform.query or ""),)
    engine = transform.engine.lower()
    if engine == "datafusion":
        from pipeline.preprocess.in_datafusion import run_queries as run_in_datafusion  # noqa: PLC0415

        return run_in_datafusion(records, steps)
    if engine == "spark":
        from pipeline.preprocess.in_spark import run_queries as run_in_spark  # noqa: PLC0415

        return run_in_spark(open_session(), records, steps)
    raise UnsupportedOperation(
        f"there is no engine '{transform.engine}' for the preprocess query", expected="datafusion or spark"
    )
