"""Rows are given once, however steps are cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pipeline.epochs.distinct import distinct
from pipeline.epochs.found_rows import FoundRows
from tests.pipeline.epochs.histories import CUTS, PATTERNS, added, histories
from tests.pipeline.epochs.operator_steps import Stepping, in_steps
from tests.pipeline.epochs.oracle import Block, History
from tests.pipeline.epochs.oracle import distinct as expected_distinct


def query(given: Sequence[pa.Table]) -> FoundRows:
    """Times and keys of all inputs."""
    rows = pa.concat_tables([each.select(["event_time", "key"]) for each in given])
    return FoundRows(rows, (np.arange(len(rows)),))


def stepping(inputs: Sequence[str]) -> Stepping:
    return Stepping(lambda step: distinct(step, query), inputs)


@pytest.mark.parametrize("inputs", ["l", "lr"], ids=["of one input", "of two"])
@given(history=histories(), ends=CUTS)
def test_rows_come_when_an_independent_computation_says(inputs: str, history: History, ends: list[int]) -> None:
    expected = expected_distinct(history, *inputs)
    assert Counter(stepping(inputs).run(history, ends)) == in_steps(expected, history, ends)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_give_the_same_block_by_block(pattern: str) -> None:
    history = PATTERNS[pattern]
    ends = range(1, len(history))
    expected = expected_distinct(history, "l", "r")
    assert Counter(stepping("lr").run(history, ends)) == in_steps(expected, history, ends)


def test_nothing_is_remembered_of_what_is_over() -> None:
    history = [Block("l", (added(minute), added(minute)), minute) for minute in range(20)]
    steps = stepping("l")
    steps.run(history, range(1, 20))
    assert max(steps.kept) == 0
