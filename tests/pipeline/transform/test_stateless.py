"""Queries that go record by record are told from all others by their plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.metadata.events import SetTransform
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput, TransformSql
from pipeline.transform.request import TransformRequest
from tests.pipeline.datasets import day
from tests.pipeline.transform.derived import id_of
from tests.pipeline.transform.test_in_spark import numbers_of, slice_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORD_BY_RECORD = {
    "a map": ("select event_time, n * 2 as n, case when n > 5 then 'large' end as size from numbers",),
    "a filter": ("select * from numbers where n % 3 = 0 and later[0] = 'x'",),
    "lists": ("select n, word from numbers lateral view explode(split('a b', ' ')) as word",),
    "an outer view": ("select n, word from numbers lateral view outer explode(later) as word where n < 9",),
    "a union": ("select n from numbers where n < 3 union all select n + 10 from others",),
    "constants": ("select n from numbers union all select 7 union all select * from values (1), (2)",),
    "steps and parts": ("select n, later from numbers where n > 1", "with a as (select * from first) select * from a"),
}
TOGETHER = {
    "a group": ("select n % 3 as rest, count(*) as c, first(n) as f from numbers group by n % 3",),
    "one row of all": ("select collect_list(n) as all from numbers",),
    "a window": ("select n, lag(n) over (order by offset) as before from numbers",),
    "distinct": ("select distinct n % 4 as rest from numbers",),
    "a join": ("select l.n, r.n as other from numbers l join others r on l.n = r.n",),
    "an order": ("select n from numbers order by n desc",),
    "a limit": ("select n from numbers limit 4",),
    "a subquery": ("select n from numbers where n in (select n + 1 from others)",),
    "a scalar": ("select n, (select max(n) from others) as most from numbers",),
    "a union that is distinct": ("select n from numbers union select n from others",),
    "a step before": ("select max(n) as n from numbers", "select n + 1 as n from first"),
}


def request_of(folder: Path, queries: tuple[str, ...]) -> TransformRequest:
    """Over two inputs of several slices."""
    numbers = [slice_at(folder, start, *range(start, start + 5)) for start in (0, 5, 10)]
    (folder / "others").mkdir()
    others = [slice_at(folder / "others", start, start, start + 1) for start in (0, 2)]
    steps = [SqlQueryStep("first", query) for query in queries[:-1]]
    sql = TransformSql("spark", queries=(*steps, SqlQueryStep(query=queries[-1])))
    given = numbers_of(*numbers, last=14), numbers_of(*others, last=3, alias="others")
    inputs = tuple(TransformInput(id_of(each.alias), each.alias) for each in given)
    return TransformRequest(SetTransform(inputs, sql), given, Path(), day(1), DatasetVocabulary(), None, 0)


def both(session: SparkSession, request: TransformRequest) -> tuple[list[pa.Table], pa.Table]:
    """What is given, and what is of all records in one partition."""
    from pipeline.transform.in_spark import DIALECT, _together, run_transform, settings_inside  # noqa: PLC0415
    from pipeline.transform.slice_scan import SliceScan  # noqa: PLC0415

    with settings_inside(session, DIALECT):
        together = _together(session, request, {each.alias: SliceScan(session, each) for each in request.inputs})
    return list(run_transform(session, request)), together


@pytest.mark.parametrize("name", RECORD_BY_RECORD)
def test_what_goes_record_by_record_is_computed_in_pieces_and_is_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("pipeline.transform.slice_scan._SORTED_BYTES", 0)
    pieces, together = both(spark, request_of(tmp_path, RECORD_BY_RECORD[name]))
    assert len(pieces) > 3
    assert pa.concat_tables(pieces) == together
    assert pieces[0].schema == together.schema


@pytest.mark.parametrize("name", TOGETHER)
def test_what_needs_more_than_a_record_is_computed_at_once(spark: SparkSession, tmp_path: Path, name: str) -> None:
    pieces, together = both(spark, request_of(tmp_path, TOGETHER[name]))
    assert pieces == [together]
