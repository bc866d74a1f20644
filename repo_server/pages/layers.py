"""Where the boxes of a drawing of what is made of what stand: inputs to the left of what is made of them.

Layers by the longest way from where data begin, order within a layer by the middle of what a box is joined to (after
Sugiyama). Lines that pass layers take a place in each of them, so that they go between the boxes. The same graph always
gives the same drawing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_Place = tuple[str, int]
"""What stands in a layer: the box of a name, with -1, or where a line passes, with its layer."""

_SWEEPS: Final = 6
"""Times that each layer is put in order after its neighbours; more change little."""

WIDTH: Final = 236
HEIGHT: Final = 66
_BETWEEN_LAYERS: Final = 48
_BETWEEN_BOXES: Final = 18
_PASSING: Final = 14
"""Height of the place that a line takes in a layer that it passes."""


@dataclass(frozen=True, slots=True)
class Box:
    """Its top left corner, in pixels."""

    name: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Layout:
    """``lines`` are paths of SVG, one for each pair of names that was given, but those from a box to itself."""

    boxes: Sequence[Box]
    lines: Sequence[str]
    width: int
    height: int


def layout_of(names: Sequence[str], pairs: Iterable[tuple[str, str]]) -> Layout:
    """Of ``pairs`` the first stands to the left of the second, unless they go round in a circle."""
    joined = [(left, right) for left, right in dict.fromkeys(pairs) if left != right]
    layer_of = _layers(names, joined)
    ways = [_way(number, pair, layer_of) for number, pair in enumerate(joined)]
    rows = _ordered(_rows(names, ways, layer_of), ways)
    tops = _tops(rows)
    height = max((_bottom(row, tops) for row in rows), default=0)
    boxes = [Box(name, _x(layer_of[name]), tops[name, -1]) for name in names]
    return Layout(boxes, [_line(way, layer_of, tops) for way in ways], _x(len(rows) - 1) + WIDTH, height)


# --- which layer


def _layers(names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    inputs, derived = _neighbours(names, pairs)
    order = _topological(names, inputs)
    place = {name: number for number, name in enumerate(order)}
    layer_of: dict[str, int] = {}
    for name in order:
        before = [layer_of[each] for each in inputs[name] if place[each] < place[name]]
        layer_of[name] = max(before, default=-1) + 1
    for name in reversed(order):  # what begins nowhere stands beside what is made of it
        after = [layer_of[each] for each in derived[name] if place[each] > place[name]]
        if after and not inputs[name]:
            layer_of[name] = min(after) - 1
    return layer_of


def _neighbours(
    names: Iterable[str], pairs: Iterable[tuple[str, str]]
) -> tuple[Mapping[str, list[str]], Mapping[str, list[str]]]:
    inputs: dict[str, list[str]] = {name: [] for name in names}
    derived: dict[str, list[str]] = {name: [] for name in inputs}
    for left, right in pairs:
        inputs[right].append(left)
        derived[left].append(right)
    return inputs, derived


def _topological(names: Iterable[str], inputs: Mapping[str, Sequence[str]]) -> list[str]:
    """Inputs first; a circle is entered where it is met. With a stack: chains of datasets may be long."""
    order: dict[str, None] = {}
    met: set[str] = set()
    for name in names:
        waiting = [name]
        while waiting:
            top = waiting[-1]
            if top not in met:
                met.add(top)
                waiting += [each for each in reversed(inputs[top]) if each not in met]
            else:
                order.setdefault(waiting.pop())
    return list(order)


# --- in which order


def _way(number: int, pair: tuple[str, str], layer_of: Mapping[str, int]) -> list[_Place]:
    """The places that a line goes through, from the left to the right."""
    left, right = sorted(pair, key=lambda name: layer_of[name])
    passed = range(layer_of[left] + 1, layer_of[right])
    return [(left, -1), *((str(number), layer) for layer in passed), (right, -1)]


def _rows(names: Iterable[str], ways: Iterable[Sequence[_Place]], layer_of: Mapping[str, int]) -> list[list[_Place]]:
    rows: list[list[_Place]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
    for name in names:
        rows[layer_of[name]].append((name, -1))
    for way in ways:
        for place in way[1:-1]:
            rows[place[1]].append(place)
    return rows


def _ordered(rows: list[list[_Place]], ways: Iterable[Sequence[_Place]]) -> list[list[_Place]]:
    left: dict[_Place, list[_Place]] = {place: [] for row in rows for place in row}
    right: dict[_Place, list[_Place]] = {place: [] for place in left}
    for way in ways:
        for before, after in pairwise(way):
            left[after].append(before)
            right[before].append(after)
    for sweep in range(_SWEEPS):
        ahead = sweep % 2 == 0
        order = range(1, len(rows)) if ahead else range(len(rows) - 2, -1, -1)
        for number in order:
            _put_in_order(rows[number], rows[number - 1 if ahead else number + 1], left if ahead else right)
    return rows


def _put_in_order(row: list[_Place], beside: Sequence[_Place], joined: Mapping[_Place, Collection[_Place]]) -> None:
    """By the middle of the places beside that each is joined to; what is joined to none stays where it is."""
    place_of = {place: number for number, place in enumerate(beside)}
    wanted: dict[_Place, float] = {}
    for number, place in enumerate(row):
        places = [place_of[each] for each in joined[place] if each in place_of]
        wanted[place] = sum(places) / len(places) if places else float(number)
    row.sort(key=lambda place: wanted[place])


# --- where exactly


def _tops(rows: Iterable[Sequence[_Place]]) -> dict[_Place, int]:
    """Each row stands in the middle of the drawing."""
    rows = list(rows)
    highest = max((_length(row) for row in rows), default=0)
    tops: dict[_Place, int] = {}
    for row in rows:
        y = (highest - _length(row)) // 2
        for place in row:
            tops[place] = y
            y += _height(place) + _BETWEEN_BOXES
    return tops


def _length(row: Sequence[_Place]) -> int:
    return sum(_height(place) for place in row) + _BETWEEN_BOXES * (len(row) - 1)


def _bottom(row: Sequence[_Place], tops: Mapping[_Place, int]) -> int:
    return max(tops[place] + _height(place) for place in row)


def _height(place: _Place) -> int:
    return HEIGHT if place[1] < 0 else _PASSING


def _x(layer: int) -> int:
    return layer * (WIDTH + _BETWEEN_LAYERS)


def _line(way: Sequence[_Place], layer_of: Mapping[str, int], tops: Mapping[_Place, int]) -> str:
    """From the right side of the first box to the left side of the last, level through the layers between."""
    (first, _), (last, _) = way[0], way[-1]
    start, end = layer_of[first], layer_of[last]
    y = tops[way[0]] + HEIGHT // 2
    if start == end:  # a circle within one layer
        return f"M{_x(start) + WIDTH // 2} {y}V{tops[way[-1]] + HEIGHT // 2}"
    drawn = [f"M{_x(start) + WIDTH} {y}"]
    for layer, place in enumerate(way[1:], start=start + 1):
        next_y = tops[place] + _height(place) // 2
        middle = _x(layer) - _BETWEEN_LAYERS // 2
        drawn.append(f"C{middle} {y} {middle} {next_y} {_x(layer)} {next_y}")
        if place[1] >= 0:
            drawn.append(f"H{_x(layer) + WIDTH}")
        y = next_y
    return "".join(drawn)
