"""A plan of which each row comes from one record passes; what else there is, is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from opendatafabric.errors import InvalidQuery

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pipeline.epochs.classify import POSITION, check_stateless

LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."


def node(name: str, **parts: Any) -> dict[str, Any]:
    return {"class": f"{LOGICAL}{name}", "num-children": 1, **parts}


def leaf(name: str, *columns: str) -> dict[str, Any]:
    output = [[{"class": f"{EXPRESSIONS}AttributeReference", "name": each}] for each in columns]
    return {"class": name, "num-children": 0, "output": output}


INPUT = leaf(f"{LOGICAL}LocalRelation", "city", POSITION)


@pytest.mark.parametrize("name", ["Project", "Filter", "Generate", "Union", "SubqueryAlias", "View"])
def test_what_works_record_by_record_passes(name: str) -> None:
    check_stateless("select", [node(name), INPUT])


def test_large_inputs_are_inputs_too() -> None:
    check_stateless("select", [node("Project"), leaf("org.apache.spark.sql.execution.LogicalRDD", "city", POSITION)])


REFUSED = [
    ("select city\nfrom a group by city", "Aggregate", "Aggregate (line 2, column 8)", "leave GROUP BY"),
    ("select distinct city from a", "Distinct", "Distinct (line 1, column 8)", "UNION ALL"),
    ("select x from a union select x from b", "Distinct", "Distinct (line 1, column 17)", "UNION ALL"),
    ("select x from a join b on 1 = 1", "Join", "Join (line 1, column 17)", "derive a dataset by the join"),
    ("select x from a order by x", "Sort", "Sort (line 1, column 17)", "order of the inputs"),
    ("select x from a limit 1", "GlobalLimit", "GlobalLimit (line 1, column 17)", "steps were cut"),
    ("select x, lag(x) over (order by x) from a", "Window", "Window (line 1, column 18)", "OVER"),
    ("select 1 as x", "OneRowRelation", "OneRowRelation", "again with each step"),
    ("select x from a", "SomethingOfALaterSpark", "SomethingOfALaterSpark", "UNION ALL"),
]


@pytest.mark.parametrize(("sql", "name", "told", "hint"), REFUSED, ids=[each[1] for each in REFUSED])
def test_a_refusal_names_the_place_and_what_to_write_instead(sql: str, name: str, told: str, hint: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        check_stateless(sql, [node("Project"), node(name), INPUT])
    assert refused.value.message == f"the query needs more than one record at a time: {told}"
    assert hint in str(refused.value.hint)


def test_constants_are_no_input() -> None:
    with pytest.raises(InvalidQuery, match="LocalRelation"):
        check_stateless("select x from values (1) as t(x)", [node("Project"), leaf(f"{LOGICAL}LocalRelation", "x")])


@pytest.mark.parametrize("name", ["ScalarSubquery", "Exists", "ListQuery", "LateralSubquery"])
def test_subqueries_among_expressions_are_refused(name: str) -> None:
    condition = [{"class": f"{EXPRESSIONS}Not"}, {"class": f"{EXPRESSIONS}{name}"}]
    with pytest.raises(InvalidQuery, match="subquery"):
        check_stateless("select", [node("Project"), node("Filter", condition=condition), INPUT])
