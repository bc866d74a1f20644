"""Plans that Spark made of queries over windows are read without Spark: what they ask, and why some are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from opendatafabric.errors import InvalidQuery
from pipeline.epochs.plan_tree import InputColumn, parts_of, plan_tree
from pipeline.epochs.window_shape import WindowShape, check_result, window_shape
from pipeline.epochs.windows import FixedWindows, SessionWindows
from tests.pipeline.epochs.record_window_plans import QUERIES, VECTORS

PLANS: dict[str, Any] = json.loads(VECTORS.read_text())
EVENT_TIMES = {"l": "event_time", "r": "event_time"}
HOUR = 3_600_000


def shape_of(name: str) -> WindowShape | None:
    return window_shape(QUERIES[name], PLANS[name], EVENT_TIMES)


SHAPES = {
    "tumbling": WindowShape(FixedWindows(HOUR, HOUR), 1),
    "begins later": WindowShape(FixedWindows(HOUR * 3 // 2, HOUR * 3 // 2, HOUR // 4), 0),
    "hopping": WindowShape(FixedWindows(HOUR, HOUR // 4), 0),
    "session": WindowShape(SessionWindows(90_000), 0),
    "union": WindowShape(FixedWindows(HOUR, HOUR), 0),
}


@pytest.mark.parametrize("name", SHAPES)
def test_windows_are_read_from_the_plan(name: str) -> None:
    shape = shape_of(name)
    assert shape == SHAPES[name]
    check_result(SHAPES[name], PLANS[name], "event_time")


def test_a_query_that_does_not_group_has_no_windows() -> None:
    assert shape_of("record by record") is None


REFUSED = {
    "union of times": ("something else than the event time of the records (line 1", "as it came"),
    "computed time": ("something else than the event time of the records (line 1", "as it came"),
    "microseconds": ("no length in whole milliseconds (line 1", "as a text"),
    "no window": ("Aggregate (line 1, column 45)", "GROUP BY window"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_groups_are_refused(name: str) -> None:
    told, hint = REFUSED[name]
    with pytest.raises(InvalidQuery) as refused:
        shape_of(name)
    assert told in refused.value.message
    assert hint in str(refused.value.hint)


RESULTS = {
    "other event time": "is not that of its window",
    "session start": "is not that of its window",
    "session condition": "condition on the bounds of its sessions",
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_that_would_depend_on_steps_are_refused(name: str) -> None:
    shape = shape_of(name)
    assert shape is not None
    with pytest.raises(InvalidQuery, match=RESULTS[name]):
        check_result(shape, PLANS[name], "event_time")


def test_an_event_time_of_another_name_is_looked_at_by_that_name() -> None:
    shape = shape_of("other event time")
    assert shape is not None
    check_result(shape, PLANS["other event time"], "moment")


def test_columns_are_followed_to_the_inputs_under_their_names() -> None:
    plan = plan_tree(PLANS["record by record"])
    assert [plan.origins[number] for number in plan.numbers] == [
        (InputColumn("l", "event_time"),),
        (InputColumn("l", "key"),),
    ]


def test_an_expression_is_taken_apart() -> None:
    nodes = [{"num-children": 2, "n": 0}, {"num-children": 1, "n": 1}, {"num-children": 0}, {"num-children": 0, "n": 2}]
    assert [each[0].get("n") for each in parts_of(nodes)] == [1, 2]
