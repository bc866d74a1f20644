"""Which windows a record is in follows from its time: compared with windows that are counted out one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.epochs.windows import FixedWindows

SLIDES = st.integers(1, 20)
TIMES = st.lists(st.integers(-100, 100), max_size=5)


@st.composite
def windows(draw: st.DrawFn) -> FixedWindows:
    """Of any size, with slides that need not divide it."""
    slide = draw(SLIDES)
    return FixedWindows(draw(st.integers(slide, 60)), slide, draw(st.integers(-30, 30)))


def ends_of(some: FixedWindows, time: int) -> list[int]:
    """Where the windows end that hold ``time``, counted out."""
    starts = [start for start in range(time - some.size + 1, time + 1) if (start - some.start) % some.slide == 0]
    return [start + some.size for start in starts]


@given(windows(), TIMES)
def test_the_last_window_of_a_record(some: FixedWindows, times: list[int]) -> None:
    assert some.last_ends(np.array(times, np.int64)).tolist() == [max(ends_of(some, time)) for time in times]


@given(windows(), TIMES, st.integers(-150, 150), st.integers(-150, 150))
def test_windows_that_close_between_two_watermarks(
    some: FixedWindows, times: list[int], after: int, until: int
) -> None:
    bounds = np.full(len(times), after)
    found = some.close_between(np.array(times, np.int64), bounds, until).tolist()
    assert found == [any(after < end <= until for end in ends_of(some, time)) for time in times]
