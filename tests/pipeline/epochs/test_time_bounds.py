"""Conditions say how far apart times are, where they compare them as they are or moved by a fixed length."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pipeline.epochs.time_bounds import AtMost, at_most, conditions, tree_of

Expression = list[dict[str, Any]]
LEFT, RIGHT = 1, 2
HOUR_US = 3_600_000_000


def node(name: str, *below: Expression, **parts: Any) -> Expression:
    top = {"class": f"org.apache.spark.sql.catalyst.expressions.{name}", "num-children": len(below), **parts}
    return [top, *(each for expression in below for each in expression)]


def time(number: int, data_type: str = "timestamp") -> Expression:
    return node("AttributeReference", exprId={"id": number}, dataType=data_type)


def hours(count: int, data_type: str = "interval hour") -> Expression:
    return node("Literal", value=str(count * HOUR_US), dataType=data_type)


def moved(column: Expression, by: Expression) -> Expression:
    return node("Cast", node("TimestampAddInterval", column, by), dataType="timestamp")


SAYS: dict[str, tuple[Expression, list[AtMost]]] = {
    "not after": (node("LessThanOrEqual", time(LEFT), time(RIGHT)), [AtMost(LEFT, RIGHT, 0)]),
    "before": (node("LessThan", time(LEFT), time(RIGHT)), [AtMost(LEFT, RIGHT, -1)]),
    "not before": (node("GreaterThanOrEqual", time(LEFT), time(RIGHT)), [AtMost(RIGHT, LEFT, 0)]),
    "after": (node("GreaterThan", time(LEFT), time(RIGHT)), [AtMost(RIGHT, LEFT, -1)]),
    "at": (node("EqualTo", time(LEFT), time(RIGHT)), [AtMost(LEFT, RIGHT, 0), AtMost(RIGHT, LEFT, 0)]),
    "at most an hour after": (
        node("LessThanOrEqual", time(LEFT), moved(time(RIGHT), hours(1))),
        [AtMost(LEFT, RIGHT, HOUR_US)],
    ),
    "moved on both sides, and back": (
        node("LessThanOrEqual", moved(time(LEFT), node("UnaryMinus", hours(3))), moved(time(RIGHT), hours(1))),
        [AtMost(LEFT, RIGHT, 4 * HOUR_US)],
    ),
    "between": (
        node("Between", input=time(LEFT), lower=time(RIGHT), upper=moved(time(RIGHT), hours(2))),
        [AtMost(RIGHT, LEFT, 0), AtMost(LEFT, RIGHT, 2 * HOUR_US)],
    ),
    "months have no length": (node("LessThan", time(LEFT), moved(time(RIGHT), hours(1, "interval month"))), []),
    "a length of no literal": (node("LessThan", time(LEFT), moved(time(RIGHT), time(3, "interval hour"))), []),
    "dates are no times": (node("LessThan", time(LEFT, "date"), time(RIGHT)), []),
    "a cast to something else": (node("LessThan", node("Cast", time(LEFT), dataType="date"), time(RIGHT)), []),
    "not": (node("Not", node("LessThan", time(LEFT), time(RIGHT))), []),
    "either": (node("Or", node("EqualTo", time(LEFT), time(RIGHT)), node("EqualTo", time(LEFT), time(RIGHT))), []),
}  # fmt: skip


@pytest.mark.parametrize("case", SAYS.values(), ids=SAYS)
def test_a_condition_says_how_far_apart_times_are(case: tuple[Expression, list[AtMost]]) -> None:
    expression, expected = case
    assert at_most(tree_of(expression)) == expected


def test_conditions_hold_together_however_deep() -> None:
    expression = time(0)
    for number in range(1, 3_000):
        expression = node("And", expression, time(number))
    assert [each.node["exprId"]["id"] for each in conditions(tree_of(expression))] == [*range(3_000)]
