"""Rows that come partition by partition are those of ``toArrow``, in its order and with its settings."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def pieces_of(frame: DataFrame) -> list[pa.Table]:
    from pipeline.partitions import partitions  # noqa: PLC0415

    return list(partitions(frame))


def test_pieces_come_in_the_order_of_the_partitions(spark: SparkSession) -> None:
    frame = spark.range(0, 1_000, numPartitions=7).selectExpr("id", "cast(id as string) as text", "array(id) as list")
    pieces = pieces_of(frame)
    assert len(pieces) == 8
    assert pa.concat_tables(pieces) == frame.toArrow()
    assert pa.concat_tables(pieces).schema == frame.toArrow().schema


def test_without_rows_there_is_a_piece_with_the_columns(spark: SparkSession) -> None:
    for frame in (spark.range(0), spark.range(9).where("id > 9"), spark.createDataFrame([], "id bigint")):
        assert {piece.schema.names[0] for piece in pieces_of(frame)} == {"id"}
        assert sum(map(len, pieces_of(frame))) == 0


def test_tasks_have_the_settings_of_the_session(spark: SparkSession) -> None:
    """Without them a day that is written short would be an error: what to do with it is a setting."""
    frame = spark.range(1).selectExpr("try_to_timestamp(concat('2024-1-', id + 1), 'yyyy-MM-dd') as time")
    assert pa.concat_tables(pieces_of(frame)).to_pydict() == {"time": [None]}


def test_what_fails_on_a_record_is_told_as_by_spark(spark: SparkSession) -> None:
    from pyspark.errors import PySparkException  # noqa: PLC0415

    frame = spark.range(0, 100, numPartitions=5).selectExpr("1 div (id - 50) as x")
    told = []
    for compute in (pieces_of, lambda each: each.toArrow()):
        with pytest.raises(PySparkException) as caught:
            compute(frame)
        told.append(str(caught.value).splitlines()[0])
    assert told[0] == told[1]
    assert "DIVIDE_BY_ZERO" in told[0]


def test_pieces_that_nobody_wants_are_not_computed(spark: SparkSession) -> None:
    """The last partition fails, far behind what is computed ahead."""
    from pipeline.partitions import partitions  # noqa: PLC0415

    frame = spark.range(0, 1_000, numPartitions=100).selectExpr("1 div (id - 999) as x")
    with closing(partitions(frame)) as pieces:
        assert len(next(pieces)) == 0
        assert len(next(pieces)) == 10
