"""The steps of a transform in Spark: each admitted by the gate, each but the last a view for those after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from opendatafabric.errors import InvalidQuery
from opendatafabric.metadata.transform import SqlQueryStep
from pipeline.gate import AnalyzedQuery, analyzed


@contextmanager
def last_step(
    session: SparkSession,
    inputs: Mapping[str, DataFrame],
    steps: Sequence[SqlQueryStep],
    *,
    rows_in_order: bool = False,
    check: Callable[[AnalyzedQuery], None] | None = None,
) -> Iterator[DataFrame]:
    """The result of the last step, to be computed inside; ``inputs`` by the names that queries call them.

    ``check`` looks at each query.

    Raises, also when it is computed:
        InvalidQuery, LimitExceeded: as ``gate.analyzed``; what fails on some record is told in Spark's words.
    """
    views: list[str] = []

    def made(step: SqlQueryStep) -> DataFrame:
        query = analyzed(session, step.query, views, rows_in_order=rows_in_order)
        if check is not None:
            check(query)
        return query.frame

    try:
        for name, frame in inputs.items():
            views.append(_viewed(frame, name))
        for step in steps[:-1]:
            frame = made(step)
            views.append(_viewed(frame, step.alias or ""))
        yield made(steps[-1])
    except PySparkException as error:
        raise InvalidQuery(f"the query failed: {(str(error).splitlines() or [''])[0][:1_000]}") from None
    finally:
        for view in views:
            session.catalog.dropTempView(view)


def _viewed(frame: DataFrame, name: str) -> str:
    """Dots in ``name`` are part of it."""
    frame.createOrReplaceTempView("`" + name.replace("`", "``") + "`")
    return name
