"""The queries of a step over records that somebody has chosen, as tables without the columns of the system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from opendatafabric.errors import IncompatibleSchema
from pipeline.carried import to_frame
from pipeline.epochs.classify import POSITION
from pipeline.epochs.records import data_schema
from pipeline.gate import AnalyzedQuery
from pipeline.spark_steps import last_step
from pipeline.transform.in_spark import settings_inside
from pipeline.transform.request import TransformRequest

PARALLEL: Final = {"spark.sql.execution.arrow.localRelationThreshold": "1MB"}
"""Larger tables are computed in parallel; what Spark keeps in the plan itself is computed while it is planned."""

Check = Callable[[AnalyzedQuery], None]


@dataclass(frozen=True, slots=True)
class EpochQuery:
    """What a transform asks of its inputs; errors, of all methods, are as those of ``last_step``."""

    session: SparkSession
    request: TransformRequest

    @contextmanager
    def over(
        self, tables: Sequence[pa.Table], hidden: Sequence[Any], check: Check | None = None
    ) -> Iterator[DataFrame]:
        """The result, to be computed inside; the ``hidden`` columns stand behind those of the tables, unseen.

        Raises, also when it is computed:
            IncompatibleSchema: the query gives an operation of its own.
        """
        with settings_inside(self.session, PARALLEL):
            frames = {
                given.alias: hidden_frame(self.session, table, column)
                for given, table, column in zip(self.request.inputs, tables, hidden, strict=True)
            }
        with last_step(self.session, frames, self.request.steps, check=check) as frame:
            check_operation(frame.columns, self.request.vocabulary.operation_type_column)
            yield frame

    @contextmanager
    def over_nothing(self, check: Check) -> Iterator[DataFrame]:
        """The result of empty inputs, to look at what was asked."""
        tables = [data_schema(each).empty_table() for each in self.request.inputs]
        with self.over(tables, [pa.nulls(0, pa.int64())] * len(tables), check) as frame:
            yield frame


def hidden_frame(session: SparkSession, records: pa.Table, hidden: Any) -> DataFrame:
    """The records, with a column that queries do not see."""
    frame = to_frame(session, records.append_column(POSITION, hidden))
    return frame.drop(POSITION)  # by no other name: inputs may have names that Spark takes for the same


def check_operation(names: Sequence[str], operation: str) -> None:
    """That no operation is among the columns of a result.

    Raises:
        IncompatibleSchema: it is.
    """
    if operation in names:
        raise IncompatibleSchema(
            f"the transform gives an operation '{operation}' of its own",
            hint="leave it out of the query: records keep their operations in this dialect",
        )
