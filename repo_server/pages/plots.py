"""Plots that are drawn on the server: how a number grew, as a line over time. What it shows is told in words too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

POINTS_MAX: Final = 150
"""More would not be seen."""

_WIDTH, _HEIGHT, _MARGIN = 600, 120, 4


@dataclass(frozen=True, slots=True)
class Plot:
    """A line, and the area below it, as paths of SVG in a box of ``width`` by ``height``."""

    line: str
    area: str
    width: int = _WIDTH
    height: int = _HEIGHT


def sampled(count: int) -> list[int]:
    """Numbers from 0 to ``count`` - 1, evenly spread, the first and the last among them."""
    if count <= POINTS_MAX:
        return list(range(count))
    return sorted({round(number * (count - 1) / (POINTS_MAX - 1)) for number in range(POINTS_MAX)})


def plot_of(points: Sequence[tuple[float, float]], *, holds: bool = True) -> Plot | None:
    """Of pairs of time and value, in the order of time; ``None`` where there is nothing to see. A value ``holds`` until
    the next one, or changes evenly up to it."""
    if len(points) < 2 or not any(value for _, value in points):
        return None
    start, end = points[0][0], max(at for at, _ in points)
    highest = max(value for _, value in points)
    places = [(_x(at, start, end), _y(value, highest)) for at, value in points]
    line = "".join(
        f"{'L' if number else 'M'}{x:g} {y:g}" for number, (x, y) in enumerate(_stairs(places) if holds else places)
    )
    return Plot(line, f"{line}V{_HEIGHT}H{places[0][0]:g}Z")


def _stairs(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    # A value holds until the next one: it did not grow in between.
    steps = [places[0]]
    for (_, before), (x, y) in pairwise(places):
        steps += [(x, before), (x, y)] if y != before else [(x, y)]
    return steps


def _x(at: float, start: float, end: float) -> float:
    return round((at - start) / (end - start) * _WIDTH, 1) if end > start else float(_WIDTH)


def _y(value: float, highest: float) -> float:
    return round(_MARGIN + (1 - value / highest) * (_HEIGHT - _MARGIN), 1)
