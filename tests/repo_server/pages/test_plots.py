"""Plots: a line through every point, inside its box."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repo_server.pages.plots import POINTS_MAX, plot_of, sampled

POINTS = st.lists(st.tuples(st.floats(0, 1e10), st.floats(0, 1e15)), min_size=2, max_size=50)


def places(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML](\S+?) ([-\d.e+]+)", path)]


def test_a_value_holds_until_the_next() -> None:
    plot = plot_of([(0.0, 1.0), (10.0, 2.0)])
    assert plot is not None
    start, corner, end = places(plot.line)
    assert (start[0], corner[0], end[0]) == (0, plot.width, plot.width)
    assert start[1] == corner[1] > end[1]


def test_a_value_may_change_evenly_instead() -> None:
    plot = plot_of([(0.0, 1.0), (5.0, 2.0), (10.0, 0.0)], holds=False)
    assert plot is not None
    assert len(places(plot.line)) == 3


@pytest.mark.parametrize("points", [[], [(1.0, 5.0)], [(0.0, 0.0), (1.0, 0.0)]])
def test_where_there_is_nothing_to_see_nothing_is_drawn(points: list[tuple[float, float]]) -> None:
    assert plot_of(points) is None


@given(POINTS)
def test_nothing_leaves_the_box(points: list[tuple[float, float]]) -> None:
    plot = plot_of(sorted(points))
    if plot is not None:
        assert all(0 <= x <= plot.width and 0 <= y <= plot.height for x, y in places(plot.line))


@pytest.mark.parametrize("count", [0, 1, 2, POINTS_MAX, POINTS_MAX + 1, 100_000])
def test_samples_are_few_and_have_both_ends(count: int) -> None:
    numbers = sampled(count)
    assert len(numbers) == min(count, POINTS_MAX)
    assert numbers[:1] + numbers[-1:] == ([0, count - 1] if count else [])
