"""SELECT DISTINCT and UNION: rows once, however often their records came.

The event time is one of the columns, so records of equal rows have one time, and when the watermark has reached it all
of them are there, or late. Then the row is given, if not all of its records were taken back.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from opendatafabric.errors import InvalidQuery
from pipeline.epochs.found_rows import Query
from pipeline.epochs.net_rows import net_rows
from pipeline.epochs.plan_tree import InputColumn, Plan, columns_of
from pipeline.epochs.records import EpochResult, EpochStep
from pipeline.sql_text import place_of


def distinct(step: EpochStep, query: Query) -> EpochResult:
    """The rows of a step, and of each input what has not been reached. ``query`` gives rows as often as records do."""
    timely = step.timely.inputs
    due = [each.only(each.times <= step.watermark) for each in timely]
    found = query([each.records for each in due])
    signs = np.concatenate([each.signs for each in due])[found.positions[0]]
    once = net_rows(found.rows, signs)
    kept = tuple(each.only(each.times > step.watermark) for each in timely)
    return EpochResult(found.rows.take(pa.array(once.rows)), np.sign(once.counts), kept)


def check_distinct(sql: str, top: Plan, event_times: Mapping[str, str]) -> None:
    """That a query whose rows each come from one record gives its rows once, by their event times among others.

    Raises:
        InvalidQuery: DISTINCT is not what it does last, or there is no event time.
    """
    place = place_of(sql, "distinct") or place_of(sql, "union")
    while top.kind in ("SubqueryAlias", "View") or _passes_on_all(top):
        top = top.below[0]
    if top.kind != "Distinct":
        raise InvalidQuery(
            f"rows are given once only at the end of a query: more is done after DISTINCT{place}",
            hint="write SELECT DISTINCT, or UNION, last, or derive a dataset from its result",
        )
    times = {InputColumn(name, column) for name, column in event_times.items()}
    if not columns_of(top, times) & set(top.numbers):
        raise InvalidQuery(
            f"the query gives rows once, but not by the event times of its inputs{place}",
            hint="add event_time to the columns: of rows without a time it is never certain that all have come",
        )


def _passes_on_all(part: Plan) -> bool:
    if part.kind != "Project":
        return False
    passed = [expression[-1]["exprId"]["id"] for expression in part.node["projectList"] if len(expression) <= 2]
    return sorted(passed) == sorted(part.below[0].numbers)
