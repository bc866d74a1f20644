"""Records are tagged with the watermark of their input before the block that brought them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.slice_format import TIMESTAMP, system_fields
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import MalformedData
from opendatafabric.metadata.events import SetDataSchema
from opendatafabric.metadata.slices import OffsetInterval
from pipeline.epochs.records import NO_WATERMARK, in_milliseconds, tagged_records
from pipeline.slices import write_slice
from pipeline.transform.input_block import InputBlock
from pipeline.transform.request import GivenInput
from tests.pipeline.datasets import day
from tests.pipeline.epochs.tagged import tagged

COLUMNS = pa.schema([*system_fields(), ("city", pa.string())])


def given_input(folder: Path, count: int, *blocks: InputBlock, first: int = 0) -> GivenInput:
    """That many records in one slice; those from ``first`` on are new."""
    times = pa.array(range(count), TIMESTAMP)
    offsets, operations = (
        pa.array(range(count), pa.int64()),
        pa.array([index % 4 for index in range(count)], pa.int32()),
    )
    cities = pa.array([f"city {index}" for index in range(count)])
    write_slice(pa.table([offsets, operations, times, times, cities], schema=COLUMNS), COLUMNS, folder / "slice")
    return GivenInput(
        "cities",
        SetDataSchema(schema=arrow_schema_to_odf(COLUMNS)),
        DatasetVocabulary(),
        (folder / "slice",),
        OffsetInterval(first, count - 1),
        blocks,
    )


def test_each_record_is_judged_by_the_watermark_before_its_own_block(tmp_path: Path) -> None:
    blocks = InputBlock(0, None, day(1)), InputBlock(0, day(1), day(2)), InputBlock(3, day(2), day(3))
    found = tagged_records(given_input(tmp_path, 4, *blocks), NO_WATERMARK)
    assert found.late_before.tolist() == [NO_WATERMARK, *[in_milliseconds(day(2))] * 3]
    assert (found.offsets.tolist(), found.operations.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])
    assert found.signs.tolist() == [1, -1, -1, 1]


def test_what_the_derivative_has_passed_is_late_too(tmp_path: Path) -> None:
    blocks = InputBlock(0, None, day(5)), InputBlock(1, day(5), day(6))
    found = tagged_records(given_input(tmp_path, 2, *blocks), in_milliseconds(day(3)))
    assert found.late_before.tolist() == [in_milliseconds(day(3)), in_milliseconds(day(5))]


def test_new_records_alone_are_read_without_the_columns_of_the_system(tmp_path: Path) -> None:
    found = tagged_records(given_input(tmp_path, 4, InputBlock(3, day(1), day(2)), first=2), NO_WATERMARK)
    assert found.records.column_names == ["event_time", "city"]
    assert found.records.column("city").to_pylist() == ["city 2", "city 3"]
    assert found.times.tolist() == [2, 3]


def test_an_unknown_operation_is_told(tmp_path: Path) -> None:
    given = given_input(tmp_path, 5, InputBlock(4, None, None))
    (tmp_path / "slice").unlink()
    times = pa.array([0] * 5, TIMESTAMP)
    records = [pa.array(range(5), pa.int64()), pa.array([9] * 5, pa.int32()), times, times, pa.array([""] * 5)]
    write_slice(pa.table(records, schema=COLUMNS), COLUMNS, tmp_path / "slice")
    with pytest.raises(MalformedData, match="no known operation"):
        tagged_records(given, NO_WATERMARK)


def test_a_record_without_event_time_is_late_for_all() -> None:
    assert tagged([(0, None, None, "kyiv", 1)]).times.tolist() == [NO_WATERMARK]


def test_records_are_taken_with_all_that_belongs_to_them() -> None:
    some = tagged([(0, None, 1, "kyiv", 1), (1, 5, 2, "lviv", 2), (3, 6, 3, "odesa", 3)])
    found = some.only(some.times != 2)
    assert found.records.column("city").to_pylist() == ["kyiv", "odesa"]
    assert (found.offsets.tolist(), found.operations.tolist()) == ([0, 2], [0, 3])
    assert found.late_before.tolist() == [NO_WATERMARK, 6]
