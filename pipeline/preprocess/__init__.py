"""The query between reading and merging, in the engine that it names (spec: Preprocessing).

Without one, and without a declared schema, a small default step makes the columns fit: system names are moved out of
the way, an event time given as a number or text becomes a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from opendatafabric.errors import UnsupportedOperation
from opendatafabric.metadata.transform import SqlQueryStep, Transform
from pipeline.ingest_request import IngestRequest
from pipeline.merge import takes_op
from pipeline.preprocess.default_step import run_default_step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def preprocessed(
    open_session: Callable[[], SparkSession], pieces: Iterator[pa.Table], request: IngestRequest
) -> Iterator[pa.Table]:
    """The records of a source after its query, or after the default step; errors as ``run_preprocess``."""
    source = request.source
    if source.preprocess is not None:
        return run_preprocess(open_session, pieces, source.preprocess)
    if source.read.schema or request.is_preprocessed:
        return pieces
    return run_default_step(pieces, request.vocabulary, op_is_data=not takes_op(source.merge))


def run_preprocess(
    open_session: Callable[[], SparkSession], pieces: Iterator[pa.Table], transform: Transform
) -> Iterator[pa.Table]:
    """What the query of ``transform`` makes of all rows of ``pieces``, its table ``input``.

    The order of rows is that of the input where the query goes row by row, else it does not depend on how the engine
    divides its work.

    Raises, also while the result is taken:
        InvalidQuery: the query cannot be run; the message is the engine's.
        UnsupportedOperation: an engine that is not there.
        MalformedData: types that the engine cannot hold.
    """
    steps = transform.queries or (SqlQueryStep(query=transform.query or ""),)
    engine = transform.engine.lower()
    if engine == "datafusion":
        from pipeline.preprocess.in_datafusion import run_queries as run_in_datafusion  # noqa: PLC0415

        return run_in_datafusion(pieces, steps)
    if engine == "spark":
        from pipeline.preprocess.in_spark import run_queries as run_in_spark  # noqa: PLC0415

        return iter([run_in_spark(open_session(), pa.concat_tables(pieces), steps)])
    raise UnsupportedOperation(
        f"there is no engine '{transform.engine}' for the preprocess query", expected="datafusion or spark"
    )
