"""What depends on an order that nobody said is refused: of the parts of a UNION, of a set; all else stays the same."""

from __future__ import annotations

import pyarrow as pa
import pytest

from opendatafabric.data.logical_hash import logical_hash_table
from opendatafabric.errors import InvalidQuery
from opendatafabric.metadata.transform import SqlQueryStep
from pipeline.datafusion_steps import collected, planned_steps, told_as_ours

ROWS, PARTS = 3_000, ("a", "b", "c")
UNION = "(" + " union all ".join(f"select * from {name}" for name in PARTS) + ")"
ENTIRE = "rows between unbounded preceding and unbounded following"


def inputs() -> dict[str, pa.Table]:
    """Numbers of their own each, and keys that they share."""
    keys = pa.array([number % 7 for number in range(ROWS)], pa.int64())
    return {
        name: pa.table(
            {
                "id": pa.array(range(part * ROWS, (part + 1) * ROWS), pa.int64()),
                "k": keys,
                "f": pa.array([number * 37 % 1_000 / 7 for number in range(part, part + ROWS)]),
            }
        )
        for part, name in enumerate(PARTS)
    }


REFUSED = {
    f"select array_agg(id) as x from {UNION}": "'array_agg'",
    f"select array_agg(distinct id) as x from {UNION}": "'array_agg'",
    f"select k, first_value(id) as x from {UNION} group by k": "'first_value'",
    f"select k, last_value(id) as x from {UNION} group by k order by k": "'last_value'",
    f"select array_agg(id order by id) as x, string_agg(cast(id as varchar), ',') as y from {UNION}": "'string_agg'",
    f"select row_number() over () as x from {UNION}": "'row_number'",
    f"select id, lag(id) over () as x from {UNION}": "'lag'",
    f"select k, sum(f) as x from {UNION} group by k": "'sum' of floating point numbers",
    f"select id, sum(f * 2) over (partition by k) as x from {UNION}": "'sum' of floating",
    f"select avg(f) filter (where id > 3) as x from {UNION}": "'avg' of floating",
    f"select stddev(f) + 1 as x from {UNION}": "'stddev' of floating",
    f"select id from {UNION} limit 10": "LIMIT",
    f"select id from {UNION} limit 10 offset 5": "LIMIT",
    f"with every as (select * from {UNION}) select max(x) as x from (select first_value(id) as x from every)": "'first",
}
DISTINCT = {
    "select k, array_agg(distinct id) as x, count(distinct f) as n from a group by k": "'array_agg' of DISTINCT",
    "select string_agg(distinct cast(k as varchar), ',') as x, count(distinct f) as n from a": "'string_agg' of DIS",
    "select sum(distinct f) as x, count(distinct k) as n from a": "'sum' of floating point numbers of DISTINCT",
    "select id, avg(distinct f) over (order by id) as x from a": "'avg' of floating point numbers of DISTINCT",
    "select id, array_agg(distinct k) over (order by id) as x from a": "'array_agg' of DISTINCT",
}
SAME_EACH_TIME = [
    "select k, array_agg(distinct id order by id) as x, count(distinct f) as n from a group by k",
    "select k, array_agg(distinct id) as x from a group by k",
    "select k, sum(distinct f) as x from a group by k",
    "select k, sum(distinct cast(f as decimal(20, 6))) as x, count(distinct id) as n from a group by k",
    f"select k, min(f) as low, count(f) as n, sum(cast(f as decimal(20, 6))) as x from {UNION} group by k",
    "select max(x) as x from (select k, sum(f) as x from a group by k union all select k, f as x from b)",
    f"select k, count(*) as n, sum(id) as total, min(id) as low, max(id) as high from {UNION} group by k",
    f"select distinct k from {UNION}",
    f"select array_agg(id order by id) as x from {UNION}",
    f"select k, first_value(id order by id desc) as x from {UNION} group by k",
    f"select id, row_number() over (order by id) as x from {UNION}",
    f"select id, lag(id) over (partition by k order by id) as x from {UNION}",
    f"select id, sum(id) over (partition by k) as x from {UNION}",
    f"select id, sum(id) over (partition by k order by id {ENTIRE}) as x from {UNION}",
    f"select id from {UNION} order by id desc limit 10",
    f"select u.id, b.id as other from {UNION} as u join b on u.id = b.id",
    "select * from a union all select * from b",
    "select * from (select id from a limit 2) union all select id from b",
    "select id from a union select id from b",
]
ONE_PART = [
    "select array_agg(id) as x from a",
    "select k, first_value(id) as x, 'first_value(' as y from a group by k",
    "select id, row_number() over () as x from a",
    "select id from a limit 10",
]
"""One part comes in its own order."""


def computed(*queries: str) -> pa.Table:
    """What the last of them gives; those before are the steps ``united`` …"""
    steps = [*(SqlQueryStep("united", query) for query in queries[:-1]), SqlQueryStep(query=queries[-1])]
    with told_as_ours():
        return collected(planned_steps(inputs(), steps))


@pytest.mark.parametrize("query", REFUSED)
def test_what_depends_on_how_parts_are_merged_is_refused(query: str) -> None:
    with pytest.raises(InvalidQuery, match="over a UNION") as refused:
        computed(query)
    assert REFUSED[query] in refused.value.message
    assert "ORDER BY" in str(refused.value.hint)


@pytest.mark.parametrize("query", DISTINCT)
def test_what_depends_on_the_order_in_a_set_is_refused(query: str) -> None:
    with pytest.raises(InvalidQuery, match="values, which come in another order") as refused:
        computed(query)
    assert DISTINCT[query] in refused.value.message


@pytest.mark.parametrize("query", SAME_EACH_TIME + ONE_PART)
def test_what_is_computed_is_the_same_each_time(query: str) -> None:
    assert len({logical_hash_table(computed(query)) for _ in range(5)}) == 1


@pytest.mark.parametrize("query", REFUSED)
def test_a_union_in_a_step_of_its_own_is_put_in_order_for_the_next(query: str) -> None:
    united = UNION.removeprefix("(").removesuffix(")")
    found = [computed(united, query.replace(UNION, "united")) for _ in range(5)]
    assert len({logical_hash_table(each) for each in found}) == 1


def test_the_rows_of_such_a_step_come_one_part_after_another() -> None:
    united = UNION.removeprefix("(").removesuffix(")")
    assert computed(united, "select array_agg(id) as x from united")["x"].to_pylist() == [[*range(ROWS * len(PARTS))]]
