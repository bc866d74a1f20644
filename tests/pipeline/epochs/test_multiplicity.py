"""What is taken back is counted off, for each window by the records that are not late for it."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.epochs.multiplicity import counted
from tests.pipeline.epochs.tagged import tagged

UNTIL = 10
RECORDS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, UNTIL), st.integers(0, 1), st.sampled_from(["a", None]), st.just(1)),
    max_size=8,
)


@given(RECORDS)
def test_a_window_has_what_is_left_of_the_records_that_count_in_it(
    rows: list[tuple[int, int, int, str | None, int]],
) -> None:
    some = tagged(rows)
    found = counted(some, some.late_before, UNTIL)
    for end in range(1, UNTIL + 1):
        expected: Counter[tuple[object, ...]] = Counter()
        for op, late, *values in rows:
            if late < end:
                expected[tuple(values)] += 1 if op in (0, 3) else -1
        left = found.rows[(found.after < end) & (end <= found.until)]
        assert Counter(tuple(rows[row][2:]) for row in left) == +expected


def test_records_that_are_not_taken_back_are_left_as_they_are() -> None:
    some = tagged([(0, 1, 5, "a", 1), (3, 2, 5, "a", 1)])
    found = counted(some, some.late_before, UNTIL)
    assert (found.rows.tolist(), found.after.tolist(), found.until.tolist()) == ([0, 1], [1, 2], [UNTIL, UNTIL])


def test_a_retraction_that_is_late_for_a_window_leaves_the_record_in_it() -> None:
    some = tagged([(0, 1, 5, "a", 1), (1, 6, 5, "a", 1)])
    found = counted(some, some.late_before, UNTIL)
    assert (found.rows.tolist(), found.after.tolist(), found.until.tolist()) == ([0], [1], [6])


def test_nothing_is_left_of_nothing() -> None:
    assert len(counted(tagged([]), np.array([], np.int64), UNTIL).rows) == 0
