"""Records meet what was there at their time, however steps are cut, and versions are forgotten that nobody can meet."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pipeline.epochs.as_of_join import looked_up
from pipeline.epochs.as_of_plan import AsOfJoin
from pipeline.epochs.temporal_tables import VALID_FROM, VALID_TO
from tests.pipeline.epochs.histories import CUTS, PATTERNS, added, histories
from tests.pipeline.epochs.operator_steps import Stepping, in_steps, joining
from tests.pipeline.epochs.oracle import Block, History, as_of_join


def stepping(*, outer: bool) -> Stepping:
    def matches(one: dict[str, Any], other: dict[str, Any]) -> bool:
        return bool(one["key"] == other["key"] and other[VALID_FROM] <= one["event_time"] < other[VALID_TO])

    query = joining(matches, keeps=[0] if outer else [])
    join = AsOfJoin(records=0, versions=1, primary_key=("key",), records_come_first=True)
    return Stepping(lambda step: looked_up(step, join, query), ["l", "r"])


@pytest.mark.parametrize("outer", [False, True], ids=["inner", "left"])
@given(history=histories(), ends=CUTS)
def test_rows_come_when_an_independent_computation_says(outer: bool, history: History, ends: list[int]) -> None:
    expected = as_of_join(history, "l", "r", outer=outer)
    assert Counter(stepping(outer=outer).run(history, ends)) == in_steps(expected, history, ends)


@pytest.mark.parametrize("outer", [False, True], ids=["inner", "left"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_give_the_same_block_by_block(pattern: str, outer: bool) -> None:
    history = PATTERNS[pattern]
    ends = range(1, len(history))
    expected = as_of_join(history, "l", "r", outer=outer)
    assert Counter(stepping(outer=outer).run(history, ends)) == in_steps(expected, history, ends)


def test_of_each_key_one_version_is_remembered() -> None:
    history = [Block("lr"[minute % 2], (added(minute), added(minute, "b")), minute) for minute in range(40)]
    steps = stepping(outer=True)
    steps.run(history, range(1, 40))
    assert max(steps.kept[5:20]) == max(steps.kept[20:]) <= 6
