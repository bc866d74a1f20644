"""Aggregates pass if their result is the same in any order of the records."""

from __future__ import annotations

import pytest

from opendatafabric.errors import InvalidQuery
from pipeline.epochs.aggregates import Aggregated, check_aggregates

PASSING = [
    Aggregated("Count", ("double",)),
    Aggregated("Sum", ("bigint",)),
    Aggregated("Sum", ("decimal(18,6)",)),
    Aggregated("Max", ("string",)),
    Aggregated("Min", ("double",), is_plain=True),
    Aggregated("BoolAnd", ("boolean",)),
]


@pytest.mark.parametrize("found", PASSING, ids=lambda each: f"{each.kind} of {each.types[0]}")
def test_what_is_exact_passes(found: Aggregated) -> None:
    check_aggregates("select 1", [found])


REFUSED = [
    (Aggregated("Sum", ("double",), is_plain=True), "select\n sum(x)", r"Sum \(line 2, column 2\)", "decimal"),
    (Aggregated("Min", ("float",)), "select min(-x)", r"Min \(line 1, column 8\)", "decimal"),
    (Aggregated("Max", ("array<double>",), is_plain=True), "select max(x)", "Max", "decimal"),
    (Aggregated("Average", ("bigint",)), "select avg(x)", r"Average \(line 1, column 8\)", "sum(x) / count"),
    (Aggregated("Percentile", ("bigint",)), "select median(x)", "Percentile", "use count"),
    (Aggregated("Sum", ("bigint",)), "select try_sum(x)", "Sum", "use count"),
]


@pytest.mark.parametrize(("found", "sql", "told", "hint"), REFUSED, ids=[each[1] for each in REFUSED])
def test_others_are_refused_with_their_place(found: Aggregated, sql: str, told: str, hint: str) -> None:
    with pytest.raises(InvalidQuery, match=told) as refused:
        check_aggregates(sql, [Aggregated("Count", ("int",)), found])
    assert hint in str(refused.value.hint)
