"""What a query in DataFusion sees of its inputs, whatever the slices are like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.slice_format import TIMESTAMP
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import MalformedData
from opendatafabric.metadata.events import SetDataSchema
from opendatafabric.metadata.slices import OffsetInterval
from pipeline.transform.in_datafusion import run_transform
from pipeline.transform.request import GivenInput, TransformRequest
from tests.pipeline.datasets import day
from tests.pipeline.transform.derived import query_over

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.uint64(), nullable=False),
        pa.field("op", pa.uint8(), nullable=False),
        pa.field("system_time", TIMESTAMP, nullable=False),
        pa.field("event_time", TIMESTAMP, nullable=False),
        pa.field("n", pa.int32()),
        pa.field("later", pa.string(), nullable=False),
    ]
)


def slice_of(path: Path, start: int, *numbers: int | None, schema: pa.Schema = SCHEMA) -> Path:
    """A slice of those numbers, of the columns of ``schema`` only."""
    count = len(numbers)
    columns: dict[str, Any] = {
        "offset": range(start, start + count),
        "op": [0] * count,
        "system_time": [0] * count,
        "event_time": [0] * count,
        "n": numbers,
        "later": ["x"] * count,
    }
    arrays = [pa.array(list(columns[field.name])).cast(field.type) for field in schema]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path)
    return path


def run(query: str, *slices: Path, first: int = 0, last: int) -> pa.Table:
    """What the query gives over the records of the interval."""
    event = SetDataSchema(schema=arrow_schema_to_odf(SCHEMA))
    given = GivenInput("numbers", event, DatasetVocabulary(), slices, OffsetInterval(first, last))
    transform = query_over(query, "numbers")
    return run_transform(TransformRequest(transform, (given,), Path(), day(1), DatasetVocabulary(), None, 0))


def test_records_of_the_interval_come_in_the_order_of_the_chain(tmp_path: Path) -> None:
    slices = slice_of(tmp_path / "one", 0, 5, 9, 7), slice_of(tmp_path / "two", 3, 30, 40)
    assert run("select n from numbers", *slices, first=1, last=3).to_pydict() == {"n": [9, 7, 30]}


def test_operations_are_numbers_of_32_bits_and_required_columns_stay_so(tmp_path: Path) -> None:
    found = run("select op, event_time, n from numbers", slice_of(tmp_path / "one", 0, 5), last=0)
    assert found.schema.field("op").type == pa.int32()
    assert [field.nullable for field in found.schema] == [False, False, True]


def test_a_required_column_that_is_younger_than_a_slice_is_null_in_it(tmp_path: Path) -> None:
    old = slice_of(tmp_path / "one", 0, 5, schema=SCHEMA.remove(5))
    slices = old, slice_of(tmp_path / "two", 1, 6)
    assert run("select later from numbers", *slices, last=1).to_pydict() == {"later": [None, "x"]}


@pytest.mark.parametrize("wrong", [pa.string(), pa.float64()])
def test_a_slice_of_other_types_than_its_chain_says_is_told(tmp_path: Path, wrong: pa.DataType) -> None:
    schema = SCHEMA.set(4, pa.field("n", wrong))
    with pytest.raises(MalformedData, match="column 'n'"):
        run("select n from numbers", slice_of(tmp_path / "one", 0, 5, schema=schema), last=0)


def test_a_file_that_is_no_slice_is_told(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"no parquet")
    with pytest.raises(MalformedData, match="a slice of an input cannot be read"):
        run("select n from numbers", tmp_path / "one", last=0)
