"""The records that a dataset holds already, for strategies that compare with them.

All that a strategy asks of the past goes through here: which keys there were, and what state the changelog leads to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from opendatafabric.data.changelog import OperationType
from opendatafabric.data.vocabulary import DatasetVocabulary
from pipeline.carried import column_of


@dataclass(frozen=True, slots=True)
class History:
    """The slices of a dataset as files on this machine; none for a dataset without records."""

    slices: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.slices)

    def columns(self, session: SparkSession, names: Sequence[str]) -> DataFrame:
        """Those columns of all records, in no order."""
        frame = self._all(session)
        return frame.select(*(column_of(frame, name) for name in names))

    def state(self, session: SparkSession, primary_key: Sequence[str], vocabulary: DatasetVocabulary) -> DataFrame:
        """A single column ``old``: of each key the record with the highest offset, unless that is a retraction."""
        frame = self._all(session)
        record: Column = F.struct(*(column_of(frame, name) for name in frame.columns))
        keys = [column_of(frame, name).alias(f"key{index}") for index, name in enumerate(primary_key)]
        last = frame.select(*keys, record.alias("old"), column_of(frame, vocabulary.offset_column).alias("position"))
        grouped = last.groupBy(*(f"key{index}" for index in range(len(keys)))).agg(
            F.max_by("old", "position").alias("old")
        )
        operation = F.col("old").getField(vocabulary.operation_type_column)
        return grouped.select("old").where(~operation.eqNullSafe(F.lit(int(OperationType.RETRACT))))

    def _all(self, session: SparkSession) -> DataFrame:
        return session.read.parquet(*(str(path) for path in self.slices))
