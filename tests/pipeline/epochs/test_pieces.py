"""Many records are computed and written in pieces: what comes out is the same, the halves of corrections together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.epochs.written import Written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UNITED = "select event_time, n from input where n % 7 <> 0 union all select event_time, -n as n from input"


def test_halves_of_a_correction_in_two_pieces_stay_together(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [(2 + number % 2, number) for number in range(1, 500)]
    written = Written(tmp_path, Written.table([(0, 0), *records, (0, 500)]))
    at_once = written.run(spark, UNITED, [])
    monkeypatch.setattr("pipeline.epochs.run._PIECES_FROM", 0)
    monkeypatch.setattr("pipeline.epochs.run.PARALLEL", {"spark.sql.execution.arrow.localRelationThreshold": "0"})
    before = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "7")
    try:
        assert written.run(spark, UNITED, []).equals(at_once)
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(before))
