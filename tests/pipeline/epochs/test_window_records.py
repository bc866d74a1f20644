"""The records that a step needs, and those it keeps, lead to the windows of the whole history, however steps are cut.

What the query does with them is done here in plain Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.epochs.records import NO_WATERMARK, EpochStep, TaggedRecords
from pipeline.epochs.window_records import all_that_is_left, closing, of_open_sessions, still_open
from pipeline.epochs.windows import FixedWindows
from tests.pipeline.epochs.histories import CUTS, PATTERNS, histories
from tests.pipeline.epochs.oracle import Block, History, Row, fixed_windows, session_windows
from tests.pipeline.epochs.tagged import tagged

GAP = 5
NEVER = 10**9
Values = tuple[object, ...]


class Steps:
    """Steps over the records of the input ``l``; what is kept is all they know of one another."""

    def __init__(self) -> None:
        self.own = self.reached = NO_WATERMARK
        self.kept = tagged([])

    def over(self, blocks: Sequence[Block]) -> EpochStep:
        """The next step."""
        rows = []
        for block in (each for each in blocks if each.input == "l"):
            late = None if self.own == NO_WATERMARK else self.own
            rows += [(record.op, late, record.time, record.key, record.value) for record in block.records]
            self.own = self.own if block.watermark is None else max(self.own, block.watermark)
        before, self.reached = self.reached, self.own
        return step_over(self.kept.followed_by(tagged(rows)), before, self.own)


def step_over(records: TaggedRecords, before: int, watermark: int) -> EpochStep:
    return EpochStep((records,), (np.ones(len(records), bool),), before, watermark)


def values_of(records: TaggedRecords, row: int) -> tuple[int, str, int]:
    return int(records.times[row]), str(records.records.column("city")[row]), records.records.column("n")[row].as_py()


def summed(start: int, end: int, records: Sequence[tuple[int, str, int]]) -> Iterator[Values]:
    for key, group in groupby(sorted(records, key=lambda record: record[1]), key=lambda record: record[1]):
        numbers = [record[2] for record in group]
        yield start, end, key, len(numbers), sum(numbers)


def fixed(steps: Steps, step: EpochStep, windows: FixedWindows) -> list[Values]:
    """What the windows have that close."""
    (records,) = step.inputs
    found = closing(records, windows, step)
    members: dict[int, list[tuple[int, str, int]]] = {}
    for row, after, until in zip(found.rows, found.after, found.until, strict=True):
        last = int(windows.last_ends(records.times[[row]])[0])
        for end in range(last, int(records.times[row]), -windows.slide):
            if after < end <= until:
                members.setdefault(end, []).append(values_of(records, row))
    steps.kept = still_open(records, windows, step)
    return [row for end, each in members.items() for row in summed(end - windows.size, end, each)]


def sessions(steps: Steps, step: EpochStep) -> list[Values]:
    """The sessions that close."""
    records = step.timely.inputs[0]
    found = [values_of(records, row) for row in all_that_is_left(records, step).rows]
    ends = []
    for key in {record[1] for record in found}:
        times = sorted(record for record in found if record[1] == key)
        cuts = [0, *(at for at in range(1, len(times)) if times[at][0] > times[at - 1][0] + GAP), len(times)]
        ends += [times[start:end] for start, end in pairwise(cuts)]
    edges = [(each[0][0], each[-1][0] + GAP, each) for each in ends]
    oldest = min((start for start, end, _ in edges if end > step.watermark), default=NEVER)
    steps.kept = of_open_sessions(records, oldest, step)
    due = [each for each in edges if step.watermark_before < each[1] <= step.watermark]
    return [row for start, end, each in due for row in summed(start, end, each)]


def check(history: History, cuts: Sequence[int], kind: str) -> None:
    size, slide = {"tumbling": (10, 10), "hopping": (10, 4), "uneven": (10, 7)}.get(kind, (0, 0))
    rows = session_windows(history, "l", gap=GAP) if not size else fixed_windows(history, "l", size=size, slide=slide)
    steps = Steps()
    for start, end in pairwise([0, *(cut for cut in cuts if cut < len(history)), len(history)]):
        step = steps.over(history[start:end])
        found = fixed(steps, step, FixedWindows(size, slide)) if size else sessions(steps, step)
        assert sorted(found, key=str) == sorted(expected(rows, start, end), key=str)


def expected(rows: Sequence[Row], start: int, end: int) -> list[Values]:
    return [row.values for row in rows if start <= row.at < end]


KINDS = st.sampled_from(["tumbling", "hopping", "uneven", "sessions"])


@given(histories(("l",)), CUTS, KINDS)
def test_steps_give_the_windows_of_the_whole_history(history: History, cuts: list[int], kind: str) -> None:
    check(history, cuts, kind)


@pytest.mark.parametrize("kind", ["tumbling", "hopping", "uneven", "sessions"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_so_they_do_in_each_pattern(pattern: str, kind: str) -> None:
    for cuts in ([], [2], range(1, len(PATTERNS[pattern]))):
        check(PATTERNS[pattern], [*cuts], kind)


def test_nothing_is_kept_of_what_no_watermark_can_need() -> None:
    some = tagged([(0, None, 1, "a", 1), (0, 20, 2, "a", 1), (0, None, None, "a", 1), (0, None, 18, "a", 1)])
    step = step_over(some, NO_WATERMARK, 15)
    assert still_open(some, FixedWindows(10, 10), step).offsets.tolist() == [3]
    assert step.timely.inputs[0].offsets.tolist() == [0, 3]
    assert of_open_sessions(step.timely.inputs[0], NEVER, step).offsets.tolist() == [3]
    assert np.array_equal(all_that_is_left(step.timely.inputs[0], step).rows, [0, 1])
