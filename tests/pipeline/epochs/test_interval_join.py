"""Interval joins give what an independent computation gives, however steps are cut, and forget what is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pipeline.epochs.interval_join import joined
from pipeline.epochs.join_plan import IntervalJoin, JoinSide
from tests.pipeline.epochs.histories import CUTS, PATTERNS, added, histories
from tests.pipeline.epochs.operator_steps import MINUTE_MS, Stepping, in_steps, joining
from tests.pipeline.epochs.oracle import Block, History, Row, interval_join

OUTER = [(), ("l",), ("r",), ("l", "r")]
BOUNDS = st.tuples(st.integers(-5, 15), st.integers(-5, 15))


def stepping(before: int, after: int, outer: Sequence[str]) -> Stepping:
    def matches(one: dict[str, Any], other: dict[str, Any]) -> bool:
        apart = (one["event_time"] - other["event_time"]).total_seconds() / 60
        return bool(one["key"] == other["key"] and -before <= apart <= after)

    left = JoinSide(0, before * MINUTE_MS, "l" in outer)
    right = JoinSide(1, after * MINUTE_MS, "r" in outer)
    query = joining(matches, keeps=[index for index, name in enumerate("lr") if name in outer])
    return Stepping(lambda step: joined(step, IntervalJoin(left, right), query), ["l", "r"])


@pytest.mark.parametrize("outer", OUTER, ids=["inner", "left", "right", "full"])
@given(history=histories(), ends=CUTS, bounds=BOUNDS)
def test_rows_come_when_an_independent_computation_says(
    outer: Sequence[str], history: History, ends: list[int], bounds: tuple[int, int]
) -> None:
    before, after = bounds
    expected = interval_join(history, "l", "r", before=before, after=after, outer=outer)
    assert Counter(stepping(before, after, outer).run(history, ends)) == in_steps(expected, history, ends)


@pytest.mark.parametrize("outer", OUTER, ids=["inner", "left", "right", "full"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_give_the_same_block_by_block(pattern: str, outer: Sequence[str]) -> None:
    history = PATTERNS[pattern]
    ends = range(1, len(history))
    expected = interval_join(history, "l", "r", before=3, after=5, outer=outer)
    assert Counter(stepping(3, 5, outer).run(history, ends)) == in_steps(expected, history, ends)


@pytest.mark.parametrize("outer", OUTER, ids=["inner", "left", "right", "full"])
def test_what_is_remembered_does_not_grow(outer: Sequence[str]) -> None:
    history = [Block("lr"[minute % 2], (added(minute), added(minute, "b")), minute) for minute in range(80)]
    steps = stepping(3, 5, outer)
    steps.run(history, range(1, 80))
    assert max(steps.kept[10:40]) == max(steps.kept[40:])


def test_an_input_may_be_joined_with_itself() -> None:
    history = [Block("l", (added(1), added(2))), Block("l", (added(3),), 9)]
    join = IntervalJoin(JoinSide(0, 0, keeps_alone=False), JoinSide(0, MINUTE_MS, keeps_alone=False))

    def query(tables: Sequence[Any]) -> Any:
        found = joining(lambda one, other: 0 <= (one["event_time"] - other["event_time"]).total_seconds() <= 60)(
            [tables[0], tables[0]]
        )
        return type(found)(found.rows, (found.positions[0], found.positions[1] - len(tables[0])))

    rows = Stepping(lambda step: joined(step, join, query), ["l"]).run(history, [1])
    times = {(row.at, row.values[0], row.values[3]) for row in rows}
    assert times == {(0, 1, 1), (0, 2, 2), (0, 2, 1), (1, 3, 3), (1, 3, 2)}
    assert all(isinstance(row, Row) for row in rows)
