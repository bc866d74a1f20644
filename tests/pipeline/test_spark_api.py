"""What older versions of Spark are asked gives the same as what newer ones are."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from pipeline import spark_api
from pipeline.spark_api import arrow_of, frame_of_records
from tests.source_tree import text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOADED = ("carried.py", "gate.py", "session.py", "spark_steps.py", "transform/in_spark.py", "transform/slice_scan.py")
"""What the engine of a replay by another Spark consists of."""

RECORDS = pa.table(
    {
        "time": pa.array([datetime(2024, 1, 2, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "price": pa.array([Decimal("1.50"), Decimal("-2.25")], pa.decimal128(10, 2)),
        "name": ["a", None],
        "nested": pa.array([{"n": [1, 2]}, None], pa.struct([("n", pa.list_(pa.int64()))])),
    }
)


def test_what_every_version_loads_asks_none_what_only_newer_ones_have() -> None:
    for name in LOADED:
        top_level = [
            line for line in text_of(Path("pipeline", name)).splitlines() if line.startswith(("from", "import"))
        ]
        assert [line for line in top_level if "pipeline.partitions" in line or "_load_from_socket" in line] == []
        assert ".toArrow(" not in text_of(Path("pipeline", name))
        assert "sql.classic.Dataset" not in text_of(Path("pipeline", name))


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
