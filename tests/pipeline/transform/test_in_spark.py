"""The dialect of Spark: what a query sees of its inputs, in which order, and what it leaves of the session."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.slice_format import TIMESTAMP
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import InvalidQuery, MalformedData
from opendatafabric.metadata.events import SetDataSchema
from opendatafabric.metadata.slices import OffsetInterval
from pipeline.transform.request import GivenInput, TransformRequest
from tests.pipeline.datasets import day
from tests.pipeline.transform.derived import query_over

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        pa.field("offset", pa.uint64(), nullable=False),
        pa.field("op", pa.uint8(), nullable=False),
        pa.field("system_time", TIMESTAMP, nullable=False),
        pa.field("event_time", TIMESTAMP, nullable=False),
        pa.field("n", pa.int32()),
        pa.field("later", pa.list_(pa.string())),
    ]
)


def slice_at(folder: Path, start: int, *numbers: int, is_old: bool = False) -> Path:
    """A slice of those numbers; an old one has no column ``later``."""
    count = len(numbers)
    values: list[Any] = [range(start, start + count), [0] * count, [NOON] * count, [NOON] * count, numbers]
    schema = SCHEMA.remove(5) if is_old else SCHEMA
    columns = [*values, *([] if is_old else [[["x"]] * count])]
    path = folder / f"slice-{start}"
    pq.write_table(pa.table([pa.array(list(each)) for each in columns], schema.names).cast(schema), path)
    return path


def numbers_of(*slices: Path, first: int = 0, last: int, alias: str = "numbers") -> GivenInput:
    """An input with those slices, of which an interval counts."""
    event = SetDataSchema(schema=arrow_schema_to_odf(SCHEMA))
    return GivenInput(alias, event, DatasetVocabulary(), slices, OffsetInterval(first, last))


def run(session: SparkSession, query: str, *inputs: GivenInput) -> pa.Table:
    """What the query gives."""
    from pipeline.transform.in_spark import run_transform  # noqa: PLC0415

    transform = query_over(query, *(each.alias for each in inputs), engine="spark")
    request = TransformRequest(transform, inputs, Path(), day(1), DatasetVocabulary(), None, 0)
    return pa.concat_tables(run_transform(session, request))


def test_records_of_the_interval_come_in_the_order_of_offsets(spark: SparkSession, tmp_path: Path) -> None:
    later, earlier = slice_at(tmp_path, 3, 30, 40), slice_at(tmp_path, 0, 5, 9, 7)
    found = run(spark, "select offset, n from numbers", numbers_of(earlier, later, first=1, last=3))
    assert found.to_pydict() == {"offset": [1, 2, 3], "n": [9, 7, 30]}


def test_a_column_that_is_younger_than_a_slice_is_null_in_it(spark: SparkSession, tmp_path: Path) -> None:
    slices = slice_at(tmp_path, 0, 1, is_old=True), slice_at(tmp_path, 1, 2)
    assert run(spark, "select later from numbers", numbers_of(*slices, last=1)).to_pydict() == {"later": [None, ["x"]]}
    assert run(spark, "select later from numbers", numbers_of(slices[0], last=0)).to_pydict() == {"later": [None]}


def test_an_input_without_news_is_an_empty_table_of_the_same_columns(spark: SparkSession, tmp_path: Path) -> None:
    nothing = GivenInput("nothing", SetDataSchema(schema=arrow_schema_to_odf(SCHEMA)), DatasetVocabulary())
    numbers = numbers_of(slice_at(tmp_path, 0, 1), last=0)
    query = "select * from numbers union all select * from nothing"
    assert run(spark, query, numbers, nothing).num_rows == 1


def test_rows_are_in_one_partition_so_that_functions_may_depend_on_their_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    slices = [slice_at(tmp_path, start, *range(start, start + 100)) for start in range(0, 500, 100)]
    found = run(spark, "select collect_list(n) as all, first(n) as first from numbers", numbers_of(*slices, last=499))
    assert found.to_pydict() == {"all": [[*range(500)]], "first": [0]}


@pytest.mark.parametrize("query", ["select n from numbers", "select nothing from numbers", "select 1 / 0 from numbers"])
def test_the_session_is_as_before_whatever_came_of_the_query(spark: SparkSession, tmp_path: Path, query: str) -> None:
    from pipeline.session import FIXED  # noqa: PLC0415

    with suppress(InvalidQuery):
        run(spark, query, numbers_of(slice_at(tmp_path, 0, 1), last=0))
    assert {name: spark.conf.get(name) for name in FIXED} == FIXED
    assert not spark.catalog.tableExists("numbers")


def test_a_name_with_dots_is_one_name(spark: SparkSession, tmp_path: Path) -> None:
    dotted = numbers_of(slice_at(tmp_path, 0, 4), last=0, alias="com.example.numbers")
    assert run(spark, "select n from `com.example.numbers`", dotted).to_pydict() == {"n": [4]}


def test_the_gate_is_shut(spark: SparkSession, tmp_path: Path) -> None:
    numbers = numbers_of(slice_at(tmp_path, 0, 4), last=0)
    with pytest.raises(InvalidQuery, match="which is none of its inputs"):
        run(spark, "select * from secrets", numbers)
    with pytest.raises(InvalidQuery, match="current_timestamp"):
        run(spark, "select current_timestamp() as event_time from numbers", numbers)


def test_a_file_that_is_no_slice_is_told(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"no parquet")
    with pytest.raises(MalformedData, match="slices of input 'numbers' cannot be read"):
        run(spark, "select n from numbers", numbers_of(tmp_path / "broken", last=0))
