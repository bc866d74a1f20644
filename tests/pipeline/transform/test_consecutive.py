"""Steps that follow one another as one request, and rows cut where steps end."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.errors import UnsupportedOperation
from opendatafabric.metadata.events import SetDataSchema
from opendatafabric.metadata.slices import OffsetInterval
from pipeline.transform.consecutive import ConsecutiveRequest, StepEnd, cut_at, joined
from pipeline.transform.request import GivenInput, TransformRequest
from tests.pipeline.datasets import day
from tests.pipeline.transform.derived import query_over

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = SetDataSchema(schema=arrow_schema_to_odf(pa.schema([("offset", pa.int64())])))


def request(number: int, *interval: int) -> TransformRequest:
    """A step over one slice with those offsets, or over nothing."""
    slices = (Path(f"/in/{number}"),) if interval else ()
    given = GivenInput("x", SCHEMA, DatasetVocabulary(), slices, OffsetInterval(*interval) if interval else None)
    query = query_over("select * from x", "x", engine="spark")
    made = Path(f"/out/{number}")
    return TransformRequest(query, (given,), made, day(number), DatasetVocabulary(), SCHEMA, 100 * number)


def rows(*offsets: int) -> pa.Table:
    """A piece whose rows are called after their offsets."""
    names = pa.array([f"of {each}" for each in offsets], pa.string())
    return pa.table({"row": names, "at": pa.array(offsets, pa.int64())})


def cut(pieces: list[pa.Table], *last_offsets: int) -> list[list[str]]:
    """The rows of each step."""
    return [table.column("row").to_pylist() for table in cut_at(iter(pieces), last_offsets)]


def test_together_they_read_what_each_of_them_reads() -> None:
    asked = joined([request(1, 5, 9), request(2), request(3, 10, 10)])
    assert asked is not None
    (given,) = asked.together.inputs
    assert (given.slices, given.interval) == ((Path("/in/1"), Path("/in/3")), OffsetInterval(5, 10))
    assert asked.ends == (
        StepEnd(Path("/out/1"), day(1), 100, 1, 9),
        StepEnd(Path("/out/2"), day(2), 200, 0, 9),
        StepEnd(Path("/out/3"), day(3), 300, 1, 10),
    )


def test_each_writes_what_it_writes_alone() -> None:
    alone = [request(1, 0, 4), request(2, 5, 5)]
    asked = joined(alone)
    assert asked is not None
    assert [replace(each, inputs=()) for each in asked.requests()] == [replace(each, inputs=()) for each in alone]


@pytest.mark.parametrize("steps", [[request(1, 0, 4), request(2, 6, 7)], [request(1, 0, 4), request(2, 4, 7)]])
def test_steps_with_a_gap_or_an_overlap_are_not_joined(steps: list[TransformRequest]) -> None:
    assert joined(steps) is None


def test_steps_that_read_nothing_are_not_joined() -> None:
    assert joined([request(1), request(2)]) is None


def test_a_request_is_the_same_after_a_way_as_json() -> None:
    asked = joined([request(1, 0, 4), request(2, 5, 5)])
    assert asked is not None
    assert ConsecutiveRequest.from_message(asked.to_message()) == asked


def test_rows_go_to_the_step_that_read_what_they_came_of() -> None:
    assert cut([rows(0, 2, 2), rows(3, 7)], 1, 2, 5, 6, 9) == [["of 0"], ["of 2", "of 2"], ["of 3"], [], ["of 7"]]


def test_steps_without_rows_have_their_columns() -> None:
    assert cut([rows()], 1, 2, 3) == [[], [], []]
    assert cut([rows(), rows(4)], 1, 4) == [[], ["of 4"]]
    assert next(cut_at(iter([rows()]), [1])).column_names == ["row"]


@pytest.mark.parametrize("pieces", [[rows(1, 0)], [rows(1), rows(0)], [rows(0, 6)], [rows(-2)]])
def test_rows_out_of_order_are_not_cut(pieces: list[pa.Table]) -> None:
    with pytest.raises(UnsupportedOperation, match="order"):
        cut(pieces, 3, 5)


@given(
    offsets=st.lists(st.integers(0, 30), max_size=20).map(sorted),
    cuts=st.lists(st.integers(0, 20), max_size=4).map(sorted),
    ends=st.lists(st.integers(0, 30), max_size=8).map(sorted),
)
def test_however_rows_come_they_are_cut_the_same(offsets: list[int], cuts: list[int], ends: list[int]) -> None:
    borders = [0, *cuts, 20]
    pieces = [rows(*offsets[begin:end]) for begin, end in pairwise(borders)]
    last_offsets = [*ends, 30]
    steps = pairwise([-1, *last_offsets])
    expected = [[f"of {each}" for each in offsets if begin < each <= end] for begin, end in steps]
    assert cut(pieces, *last_offsets) == expected


@pytest.mark.slow
def test_a_step_does_not_read_what_lies_in_the_slice_of_another(spark: SparkSession, tmp_path: Path) -> None:
    """By itself it would not have those records."""
    from pipeline.transform.consecutive_job import make_slices  # noqa: PLC0415

    steps = [request(1, 0, 1), request(2, 2, 3)]
    for number, offsets in enumerate([[0, 1, 2], [3]]):
        pq.write_table(pa.table({"offset": pa.array(offsets, pa.int64())}), tmp_path / str(number))
        (given,) = steps[number].inputs
        steps[number] = replace(steps[number], inputs=(replace(given, slices=(tmp_path / str(number),)),))
    asked = joined(steps)
    assert asked is not None
    with pytest.raises(UnsupportedOperation, match="count up"):
        make_slices(spark, asked)
