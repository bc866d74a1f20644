"""What older versions of Spark are asked gives the same as what newer ones are."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from pipeline import spark_api
from pipeline.spark_api import arrow_of, frame_of_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS = pa.table(
    {
        "time": pa.array([datetime(2024, 1, 2, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "price": pa.array([Decimal("1.50"), Decimal("-2.25")], pa.decimal128(10, 2)),
        "name": ["a", None],
        "nested": pa.array([{"n": [1, 2]}, None], pa.struct([("n", pa.list_(pa.int64()))])),
    }
)


def test_records_come_and_go_in_both_ways(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for older in (False, True):
        monkeypatch.setattr(spark_api, "is_older", lambda older=older: older)
        found.append(arrow_of(frame_of_records(spark, RECORDS).coalesce(1)))
    assert found[0].to_pylist() == found[1].to_pylist() == RECORDS.to_pylist()
    assert found[0].schema.types == found[1].schema.types


def test_no_records_have_their_columns(spark: SparkSession) -> None:
    found = arrow_of(frame_of_records(spark, RECORDS.slice(0, 0)))
    assert (found.schema.types, len(found)) == (RECORDS.schema.types, 0)
