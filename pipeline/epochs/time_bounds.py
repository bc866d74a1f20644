"""How far apart the times of two records may be for a condition to hold.

Reads conditions as Spark writes them down. Understood are comparisons of two columns of time, with intervals of fixed
length added or taken away; whatever else a condition asks makes it hold for fewer pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.epochs.plan_tree import folded, number_of
from pipeline.gate import Node, short

_FIXED_UNITS: Final = {"day", "hour", "minute", "second"}
_AT_MOST: Final = {"LessThanOrEqual": 0, "LessThan": -1}
_AT_LEAST: Final = {"GreaterThanOrEqual": 0, "GreaterThan": -1}


@dataclass(frozen=True, slots=True)
class Tree:
    """An expression."""

    node: Node
    below: tuple[Tree, ...]

    @property
    def kind(self) -> str:
        """The last part of its class."""
        return short(self.node)


@dataclass(frozen=True, slots=True)
class AtMost:
    """That the time ``column`` is at most ``apart_us`` microseconds after ``other``; columns by their numbers."""

    column: int
    other: int
    apart_us: int


def tree_of(expression: Sequence[Node]) -> Tree:
    """The expression as a tree."""
    return folded(expression, Tree)


def conditions(expression: Tree) -> Iterator[Tree]:
    """What must hold together."""
    left = [expression]
    while left:
        each = left.pop()
        if each.kind == "And":
            left.extend(reversed(each.below))
        else:
            yield each


def at_most(condition: Tree) -> list[AtMost]:
    """What the condition says of times; nothing if it is about something else."""
    if condition.kind == "Between":
        value, lower, upper = (tree_of(condition.node[name]) for name in ("input", "lower", "upper"))
        return [*_compared(lower, value, 0), *_compared(value, upper, 0)]
    if condition.kind not in {"EqualTo", *_AT_MOST, *_AT_LEAST}:
        return []
    one, other = condition.below
    if condition.kind in _AT_MOST:
        return _compared(one, other, _AT_MOST[condition.kind])
    if condition.kind in _AT_LEAST:
        return _compared(other, one, _AT_LEAST[condition.kind])
    return [*_compared(one, other, 0), *_compared(other, one, 0)]


def _compared(one: Tree, other: Tree, strictly_us: int) -> list[AtMost]:
    """``one`` is not after ``other``."""
    earlier, later = _moved(one), _moved(other)
    if earlier is None or later is None:
        return []
    return [AtMost(earlier[0], later[0], later[1] - earlier[1] + strictly_us)]


def _moved(expression: Tree) -> tuple[int, int] | None:
    """A column of time and what is added to it."""
    added_us = 0
    while expression.kind != "AttributeReference":
        if expression.kind == "TimestampAddInterval":
            length_us = _length_us(expression.below[1])
            if length_us is None:
                return None
            added_us += length_us
        elif not _changes_nothing(expression):
            return None
        expression = expression.below[0]
    is_time = expression.node["dataType"] == "timestamp"
    return (number_of(expression.node), added_us) if is_time else None


def _changes_nothing(expression: Tree) -> bool:
    """What Spark puts around arithmetic with times."""
    is_cast = expression.kind == "Cast" and expression.node["dataType"] == "timestamp"
    return is_cast or expression.kind == "DatetimeSub"


def _length_us(interval: Tree) -> int | None:
    """Of a literal; months and years have none."""
    sign = 1
    while interval.kind == "UnaryMinus":
        sign, interval = -sign, interval.below[0]
    words = str(interval.node.get("dataType", "")).split()
    is_fixed = interval.kind == "Literal" and words[:1] == ["interval"] and set(words[1:]) & _FIXED_UNITS
    return sign * int(interval.node["value"]) if is_fixed else None
