"""Queries in DataFusion give their rows in one order, whatever part of the work is done first."""

from __future__ import annotations

import pyarrow as pa
import pytest

from opendatafabric.errors import InvalidQuery
from opendatafabric.metadata.transform import SqlQueryStep
from pipeline.datafusion_steps import collected, planned_steps, told_as_ours

INPUTS = {
    "one": pa.table({"n": [3, 1, 2], "s": ["c", "a", "b"]}),
    "other.one": pa.table({"n": [9, 7], "s": ["i", "g"]}),
}
UNION = 'select n from one union all select n from "other.one"'


def numbers(*queries: str) -> list[int]:
    """The column ``n`` of the last of the queries; those before it are steps ``s0``, ``s1`` …"""
    steps = [SqlQueryStep(f"s{number}", query) for number, query in enumerate(queries)]
    with told_as_ours():
        found: list[int] = collected(planned_steps(INPUTS, steps)).column("n").to_pylist()
    return found


CASES = [
    ("the order of the input is kept", "select n from one where n <> 2", [3, 1]),
    ("the parts of a union follow each other", UNION, [3, 1, 2, 9, 7]),
    ("an order that is asked for is kept", "select n from one order by n desc", [3, 2, 1]),
    ("what merges the parts of a union is sorted", f"select n from ({UNION}) group by n", [1, 2, 3, 7, 9]),
    ("no rows", "select n from one where n > 100", []),
]


@pytest.mark.parametrize(("query", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_rows_come_in_one_order(query: str, expected: list[int]) -> None:
    assert [numbers(query) for _ in range(10)] == [expected] * 10


def test_steps_see_those_before_them() -> None:
    assert numbers("select n * 2 as n from one", "select n + 1 as n from s0") == [7, 3, 5]


def test_a_result_without_rows_has_columns_still() -> None:
    result = collected(planned_steps(INPUTS, [SqlQueryStep(query="select n, s from one where n > 100")]))
    assert (result.num_rows, result.column_names) == (0, ["n", "s"])


@pytest.mark.parametrize("query", ["select", "select n from '/etc/passwd'", "drop table one", "set x = 1"])
def test_what_is_no_query_over_the_inputs_is_refused(query: str) -> None:
    with pytest.raises(InvalidQuery, match="the query failed"):
        numbers(query)
