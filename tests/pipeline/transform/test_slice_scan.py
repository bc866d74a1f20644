"""Slices in Spark: divided or not, records are in the order of their offsets, in the declared columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.metadata.slices import OffsetInterval
from pipeline.transform.request import GivenInput
from tests.pipeline.transform.test_in_spark import numbers_of, slice_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipeline.transform.slice_scan import SliceScan


def scan(session: SparkSession, given: GivenInput) -> SliceScan:
    from pipeline.transform.slice_scan import SliceScan  # noqa: PLC0415

    return SliceScan(session, given)


def slices(folder: Path, *sizes: int, is_old: bool = False) -> list[Path]:
    """One behind the other."""
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    return [slice_at(folder, start, *range(size), is_old=is_old) for start, size in zip(starts, sizes, strict=True)]


def offsets_of(frame: DataFrame | None) -> list[int]:
    assert frame is not None
    found: list[int] = frame.select("offset").toArrow().column(0).cast(pa.int64()).to_pylist()
    return found


@pytest.fixture(params=[0, 2**30], ids=["each by itself", "read together"])
def sorted_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How small slices are that are read together."""
    monkeypatch.setattr("pipeline.transform.slice_scan._SORTED_BYTES", request.param)


@pytest.mark.usefixtures("sorted_bytes")
def test_slices_of_any_size_come_in_the_order_of_offsets(spark: SparkSession, tmp_path: Path) -> None:
    given = numbers_of(*slices(tmp_path, 10, 3_000, 1, 500), first=3, last=3_509)
    found = scan(spark, given)
    assert offsets_of(found.in_order()) == offsets_of(found.in_one_partition()) == [*range(3, 3_510)]


@pytest.mark.usefixtures("sorted_bytes")
def test_younger_columns_are_null_in_older_slices(spark: SparkSession, tmp_path: Path) -> None:
    old = slices(tmp_path, 2, 2, is_old=True)
    given = numbers_of(*old, slice_at(tmp_path, 4, 1), last=4)
    for frame in (scan(spark, given).in_order(), scan(spark, given).in_one_partition()):
        assert frame is not None
        assert frame.toArrow().column("later").to_pylist() == [None] * 4 + [["x"]]


def test_a_large_slice_is_divided_between_its_row_groups(spark: SparkSession, tmp_path: Path) -> None:
    (path,) = slices(tmp_path, 5_000)
    pq.write_table(pq.read_table(path), path, row_group_size=100)
    wanted, before = str(path.stat().st_size // 7), spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", wanted)
    try:
        frame = scan(spark, numbers_of(path, last=4_999)).in_order()
        assert frame is not None
        assert frame.rdd.getNumPartitions() > 3
        assert offsets_of(frame) == [*range(5_000)]
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(before))


def test_records_that_are_in_no_order_are_put_in_order_in_one_partition(spark: SparkSession, tmp_path: Path) -> None:
    (path,) = slices(tmp_path, 5)
    pq.write_table(pq.read_table(path).take([4, 2, 0, 1, 3]), path)
    found = scan(spark, numbers_of(path, last=4))
    assert found.in_order() is None
    assert offsets_of(found.in_one_partition()) == [0, 1, 2, 3, 4]


def test_an_input_without_news_has_its_columns(spark: SparkSession, tmp_path: Path) -> None:
    given = numbers_of(*slices(tmp_path, 1), last=0)
    nothing = GivenInput(given.alias, given.schema, given.vocabulary)
    frame = scan(spark, nothing).in_order()
    assert frame is not None
    assert frame.toArrow().num_rows == 0
    assert frame.columns == scan(spark, given).in_one_partition().columns


def test_the_same_columns_in_another_layout_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    first, second = slices(tmp_path, 2, 2)
    records = pq.read_table(second)
    pq.write_table(records.set_column(0, "offset", records.column("offset").cast(pa.int64())), second)
    for path, interval in ((first, OffsetInterval(0, 1)), (second, OffsetInterval(2, 3))):
        given = numbers_of(path, first=interval.start, last=interval.end)
        assert offsets_of(scan(spark, given).in_order()) == [*range(interval.start, interval.end + 1)]
