"""Reads from a plan what a query over windows groups by, and refuses what cannot be computed window by window.

The shape is: anything row by row, on top of one ``GROUP BY`` a window over the event time and other columns, on top of
anything record by record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from opendatafabric.errors import InvalidQuery
from pipeline.epochs.classify import check_stateless, refused
from pipeline.epochs.plan_tree import Expression, Plan, column_of, definitions, is_column, plan_tree, renamed_from
from pipeline.epochs.window_terms import WindowTerms, window_terms
from pipeline.epochs.windows import SessionWindows, Windows
from pipeline.gate import Node, short
from pipeline.sql_text import place_of

_ON_TOP: Final = frozenset({"Filter", "Project", "SubqueryAlias", "View"})
_START, _END = 0, 1


@dataclass(frozen=True, slots=True)
class WindowShape:
    """The windows of a query, and the place of their column among what it groups by."""

    windows: Windows
    grouped_at: int


def window_shape(sql: str, nodes: Sequence[Node], event_times: Mapping[str, str]) -> WindowShape | None:
    """What ``sql`` groups by, if it groups at all; ``nodes`` are those of its plan, event times those of the inputs.

    Raises:
        InvalidQuery: it is no such query, and none record by record; names the place and what to write instead.
    """
    plan = plan_tree(nodes)
    grouping = _grouping(plan)
    if grouping is None:
        check_stateless(sql, nodes)
        return None
    place, column, terms = _window(sql, grouping)
    below = grouping.below[0]
    check_stateless(sql, [each.node for each in below.all() if not _hops(each, column)])
    return WindowShape(_windows(sql, terms, below, event_times), place)


def check_result(shape: WindowShape, nodes: Sequence[Node], event_time: str) -> None:
    """That the event time of the result is that of its windows, so that rows come in time for whoever reads them.

    Raises:
        InvalidQuery: it is something else, or sessions are looked at as a whole.
    """
    plan = plan_tree(nodes)
    grouping = _grouping(plan)
    assert grouping is not None  # there is a shape
    window, defined = column_of(grouping.node["groupingExpressions"][shape.grouped_at]), definitions(plan)
    is_session = isinstance(shape.windows, SessionWindows)
    if is_session:
        _check_sessions(plan, window)
    allowed = (_END,) if is_session else (_START, _END)
    for each in [each for each in plan.outputs if each[0]["name"] == event_time]:
        said = defined.get(renamed_from(column_of(each), defined) or -1, each)
        is_edge = short(said[0]) == "GetStructField" and said[0]["ordinal"] in allowed and is_column(said[1:])
        if not is_edge or renamed_from(column_of(said[1:]), defined) != window:
            raise _wrong_event_time(event_time, shape.windows)


def _check_sessions(plan: Plan, window: int | None) -> None:
    """That nothing is asked of a session as a whole: Spark would ask it of each record in it.

    Raises:
        InvalidQuery: a condition does.
    """
    defined = definitions(plan)
    while plan.kind != "Aggregate":
        condition = plan.node["condition"] if plan.kind == "Filter" else []
        if any(_comes_from(column_of([node]), window, defined) for node in condition if is_column([node])):
            raise InvalidQuery(
                "the query has a condition on the bounds of its sessions",
                hint="leave it out, and filter in a dataset that is derived from this one",
            )
        plan = plan.below[0]


def _comes_from(column: int | None, window: int | None, defined: Mapping[int, Expression]) -> bool:
    said = defined.get(column or -1, [])
    return column == window or any(
        _comes_from(column_of([node]), window, defined) for node in said if is_column([node])
    )


def _grouping(plan: Plan) -> Plan | None:
    """The part that groups, if it is below nothing but what works row by row."""
    while plan.kind in _ON_TOP:
        plan = plan.below[0]
    return plan if plan.kind == "Aggregate" else None


def _window(sql: str, grouping: Plan) -> tuple[int, int, WindowTerms]:
    """Where the window is among what is grouped by, which column it is, and what it says."""
    defined = definitions(grouping)
    for place, expression in enumerate(grouping.node["groupingExpressions"]):
        column = column_of(expression) if is_column(expression) else None
        said = defined.get(column or -1) or next(_hopping(grouping, column), None)
        terms = window_terms(said) if said else None
        if column is not None and terms is not None:
            return place, column, terms
    raise refused(sql, "Aggregate")


def _hopping(grouping: Plan, column: int | None) -> Iterator[list[Node]]:
    """What a record becomes in the first of the windows that it is in."""
    for each in grouping.all():
        if _hops(each, column):
            place = [column_of(output) for output in each.columns].index(column)
            yield each.node["projections"][0][place]


def _hops(plan: Plan, column: int | None) -> bool:
    """Whether this is where a record becomes several, one for each window."""
    return plan.kind == "Expand" and column in [column_of(output) for output in plan.columns]


def _windows(sql: str, terms: WindowTerms, below: Plan, event_times: Mapping[str, str]) -> Windows:
    place = place_of(sql, "window") or place_of(sql, "session_window")
    found = None if terms.column is None else below.origins.get(terms.column)
    if found is None or any(event_times.get(each.input) != each.name for each in found):
        raise InvalidQuery(
            f"the window is over something else than the event time of the records{place}",
            expected=" or ".join(sorted(set(event_times.values()))),
            hint="group by a window over the event time as it came, under whatever name",
        )
    if terms.windows is None:
        raise InvalidQuery(
            f"the window has no length in whole milliseconds{place}",
            hint="write it as a text: '1 hour 30 minutes'; months have no length, and neither have expressions",
        )
    return terms.windows


def _wrong_event_time(event_time: str, windows: Windows) -> InvalidQuery:
    is_session = isinstance(windows, SessionWindows)
    return InvalidQuery(
        f"the event time '{event_time}' of the result is not that of its window",
        expected="session_window.end" if is_session else "window.end or window.start",
        hint=f"select {'session_window' if is_session else 'window'}.end AS {event_time}",
    )
