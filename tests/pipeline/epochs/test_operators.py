"""Which joins are computed as records come, and what is said of the others: by the plans that Spark makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from opendatafabric.data.slice_format import TIMESTAMP
from opendatafabric.errors import InvalidQuery
from opendatafabric.metadata.transform import SqlQueryStep, TemporalTable
from pipeline.epochs.as_of_plan import AsOfJoin, as_of_join_of
from pipeline.epochs.join_plan import IntervalJoin, JoinSide, PlannedJoin, interval_join_of, planned_join
from pipeline.epochs.operators import operator_of
from pipeline.epochs.plan_tree import plan_tree
from pipeline.gate import AnalyzedQuery, Node

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENT_TIMES = {"l": "event_time", "r": "event_time", "v": "event_time"}
TABLES = {"v": TemporalTable("v", ("k",))}
HOUR_MS = 3_600_000


def planned(spark: SparkSession, *queries: str) -> tuple[str, list[Node]]:
    """The last query and its plan; steps before it are called ``step_0`` …"""
    from pipeline.epochs.positions import nodes_of  # noqa: PLC0415 - only with pyspark
    from pipeline.epochs.query import hidden_frame  # noqa: PLC0415
    from pipeline.spark_steps import last_step  # noqa: PLC0415

    columns = pa.schema([("event_time", TIMESTAMP), ("k", pa.string()), ("v", pa.int64())])
    versions = columns.append(pa.field("valid_from", TIMESTAMP)).append(pa.field("valid_to", TIMESTAMP))
    frames = {
        name: hidden_frame(spark, (versions if name in TABLES else columns).empty_table(), pa.nulls(0, pa.int64()))
        for name in EVENT_TIMES
    }
    steps = [SqlQueryStep(f"step_{number}", query) for number, query in enumerate(queries)]
    found: list[AnalyzedQuery] = []
    with last_step(spark, frames, steps, check=found.append):
        return queries[-1], nodes_of(found[-1])


def join_of(spark: SparkSession, *queries: str) -> PlannedJoin:
    sql, nodes = planned(spark, *queries)
    join = planned_join(sql, plan_tree(nodes))
    assert join is not None
    return join


def interval(before: int, after: int, *, left: bool = False, right: bool = False) -> IntervalJoin:
    return IntervalJoin(JoinSide(0, before * HOUR_MS, left), JoinSide(1, after * HOUR_MS, right))


NEAR = "l.k = r.k and l.event_time between r.event_time - interval 1 hour and r.event_time + interval '2' hour"
JOINS: dict[str, IntervalJoin] = {
    f"select l.event_time from l join r on {NEAR}": interval(1, 2),
    f"select l.event_time from l left join r on {NEAR}": interval(1, 2, left=True),
    f"select l.event_time from l right join r on {NEAR}": interval(1, 2, right=True),
    f"select l.event_time from l full join r on {NEAR}": interval(1, 2, left=True, right=True),
    f"select l.event_time from l, r where l.v > 1 and {NEAR}": interval(1, 2),
    "select event_time from l join r using (k, event_time)": interval(0, 0),
    "select l.event_time from l join r on l.k = r.k where l.event_time >= r.event_time"
    " and r.event_time + interval 1 day >= l.event_time"
    " and l.event_time <= r.event_time + interval 3 hours": interval(0, 3),
    "select t from (select k, event_time as t from l where v > 1) l left join (select event_time as u, k from r) r"
    " on l.k = r.k and t between u - interval '0 01:00:00' day to second and u": interval(1, 0, left=True),
    "with a as (select * from l), b as (select * from r lateral view explode(array(1, 2)) as n)"
    " select a.event_time, n from a join b on b.event_time = a.event_time": interval(0, 0),
}  # fmt: skip


@pytest.mark.parametrize("query", JOINS)
def test_times_that_are_near_each_other_make_an_interval_join(spark: SparkSession, query: str) -> None:
    assert interval_join_of(join_of(spark, query), EVENT_TIMES) == JOINS[query]


def test_a_join_of_an_earlier_step_is_the_join_of_the_last(spark: SparkSession) -> None:
    found = join_of(spark, f"select l.event_time, l.v from l join r on {NEAR}", "select * from step_0 where v > 1")
    assert interval_join_of(found, EVENT_TIMES) == interval(1, 2)


def test_an_input_may_be_joined_with_itself(spark: SparkSession) -> None:
    query = (
        "select a.event_time from l a join l b on a.event_time between b.event_time and b.event_time + interval 1 hour"
    )
    both = IntervalJoin(JoinSide(0, 0, keeps_alone=False), JoinSide(0, HOUR_MS, keeps_alone=False))
    assert interval_join_of(join_of(spark, query), EVENT_TIMES) == both


VALID = "l.k = v.k and l.event_time >= v.valid_from and l.event_time < v.valid_to"


@pytest.mark.parametrize(
    ("query", "first"),
    [
        (f"select l.event_time, v.v from l join v on {VALID}", True),
        (f"select l.event_time, v.v from l left join v on {VALID}", True),
        (f"select l.event_time, v.v from v right join l on {VALID}", False),
        (f"select l.event_time, v.valid_from from l join (select * from v where v > 1) v where {VALID}", True),
    ],
)
def test_versions_of_the_time_of_a_record_make_an_as_of_join(spark: SparkSession, query: str, first: bool) -> None:
    expected = AsOfJoin(records=0, versions=2, primary_key=("k",), records_come_first=first)
    assert as_of_join_of(join_of(spark, query), EVENT_TIMES, TABLES) == expected


FAR = "does not say how far apart the event times of both may be"
MORE = "uses 'valid_to' of 'v' for more than the join"
REFUSED = {
    "select l.event_time from l join r on l.k = r.k": FAR,
    "select l.event_time from l join r on l.event_time >= r.event_time": FAR,
    "select l.event_time from l left join r on l.k = r.k where l.event_time = r.event_time": FAR,
    "select l.event_time from l join r on l.event_time between r.event_time - interval 1 month and r.event_time": FAR,
    "select l.event_time from l join (select k, event_time + interval 1 hour as t from r) r on l.event_time = t": FAR,
    "select l.event_time from l left semi join r on l.event_time = r.event_time": "SEMI and ANTI",
    "select l.event_time from l left anti join r on l.event_time = r.event_time": "SEMI and ANTI",
    "select a.event_time from l a left join l b on a.event_time = b.event_time": "both sides of an outer join",
    "select event_time from l join r using (event_time) join l b using (event_time)": "several",
    "select a.event_time from (table l union all table r) a join r on a.event_time = r.event_time": "Union is no input",
    "select l.event_time from l join (values (timestamp'2024-01-01')) t(u) on l.event_time = u": "LocalRelation",
    "select l.event_time from l join r on l.event_time = r.event_time and l.v in (select v from l)": "subquery",
    "select l.event_time, count(*) as n from l join r on l.event_time = r.event_time group by 1": "Aggregate",
    "select distinct l.event_time from l join r on l.event_time = r.event_time": "Join",
    "select l.event_time from l join v on l.k = v.k": "does not say when a version of 'v' is valid",
    "select l.event_time from l join v on l.event_time between v.valid_from and v.valid_to": "when a version of 'v'",
    f"select l.event_time from l right join v on {VALID}": "keeps versions of 'v' that no record meets",
    f"select l.event_time, v.* from l join v on {VALID}": MORE,
    f"select l.event_time from l join v on {VALID} where v.valid_to > l.event_time + interval 1 day": MORE,
    f"select l.event_time from l join (select * from v where valid_to > valid_from) v on {VALID}": MORE,
    f"select l.event_time, year(v.valid_to) as y from l join v on {VALID}": MORE,
    "select a.event_time from v a join v b on a.event_time >= b.valid_from and a.event_time < b.valid_to": "both sides",
    "select distinct event_time, valid_from from v": "'v' is a temporal table, and the query joins nothing with it",
    "select distinct k from l": "not by the event times of its inputs",
    "select distinct date(event_time) as event_time, k from l": "not by the event times of its inputs",
    "select event_time from l union select event_time + interval 1 day from r": "not by the event times",
    "select event_time, length(k) as n from (select distinct event_time, k from l)": "more is done after DISTINCT",
    "select event_time from l union all (select distinct event_time from r)": "more is done after DISTINCT",
}  # fmt: skip


@pytest.mark.parametrize("query", REFUSED)
def test_what_nothing_computes_is_refused_with_what_to_write_instead(spark: SparkSession, query: str) -> None:
    sql, nodes = planned(spark, query)
    with pytest.raises(InvalidQuery) as refused:
        operator_of(sql, nodes, EVENT_TIMES, TABLES)
    assert REFUSED[query] in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    "queries",
    [
        ("select distinct event_time, k from l",),
        ("select event_time as t, k from l union select event_time, k from r union select event_time, k from l",),
        (
            "select distinct event_time, k, upper(k) as u from l where v > 1",
            "select u, event_time, k as kk from step_0",
        ),
    ],
)
def test_rows_are_given_once_by_their_event_times(spark: SparkSession, queries: tuple[str, ...]) -> None:
    assert operator_of(*planned(spark, *queries), EVENT_TIMES, TABLES) is not None


@pytest.mark.parametrize("query", ["select event_time from l", "select k from l union all select k from r"])
def test_what_works_record_by_record_remembers_nothing(spark: SparkSession, query: str) -> None:
    assert operator_of(*planned(spark, query), EVENT_TIMES, TABLES) is None
