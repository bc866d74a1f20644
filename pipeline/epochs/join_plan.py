"""Which joins can be computed as their records come: those of two inputs whose times are near each other.

A pair is known as soon as both records are there, and a record is needed only as long as something that matches it may
still come. Everything else about a query with such a join works row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from opendatafabric.errors import InvalidQuery
from pipeline.epochs.plan_tree import InputColumn, Plan, columns_of
from pipeline.epochs.time_bounds import AtMost, at_most, conditions, tree_of
from pipeline.gate import class_of
from pipeline.sql_text import place_of

ROW_BY_ROW: Final = frozenset({"Filter", "Generate", "Project", "SubqueryAlias", "View"})
"""Nodes that give rows because of one row below them."""

INNER: Final = ("Inner$", "Cross$")
_KEEPS: Final = {
    **dict.fromkeys(INNER, (False, False)),
    "LeftOuter$": (True, False),
    "RightOuter$": (False, True),
    "FullOuter$": (True, True),
}
_BOUNDS: Final = (
    "ON l.key = r.key AND l.event_time BETWEEN r.event_time - INTERVAL 1 HOUR AND r.event_time + INTERVAL 2 HOURS"
)
_US_IN_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class JoinSide:
    """An input by its number. ``wait_ms`` after the time of a record, what comes to the other side does not match it.

    With ``keeps_alone`` a record that nothing matches is in the result too, beside nulls.
    """

    input: int
    wait_ms: int
    keeps_alone: bool


@dataclass(frozen=True, slots=True)
class IntervalJoin:
    """Records match only if the left one is at most ``left.wait_ms`` before, and ``right.wait_ms`` after the right."""

    left: JoinSide
    right: JoinSide


@dataclass(frozen=True, slots=True)
class PlannedJoin:
    """The only join of a query: ``above`` it there are nodes that work row by row."""

    sql: str
    above: tuple[Plan, ...]
    join: Plan

    @property
    def kind(self) -> str:
        """How it joins."""
        return class_of(self.join.node["joinType"]).rpartition(".")[2]

    def sides(self) -> tuple[str, str]:
        """The inputs.

        Raises:
            InvalidQuery: a side is something else.
        """
        left, right = self.join.below
        return self._side(left), self._side(right)

    def said_of_times(self) -> Iterator[AtMost]:
        """What must hold for a pair; above an inner join, WHERE is as good as ON."""
        given = [self.join.node["condition"]] if self.join.node.get("condition") else []
        if self.kind in INNER:
            given += [part.node["condition"] for part in self.above if part.kind == "Filter"]
        return (said for each in given for condition in conditions(tree_of(each)) for said in at_most(condition))

    def refused(self, why: str, hint: str) -> InvalidQuery:
        """It is a join that is not computed."""
        place = place_of(self.sql, "join")
        return InvalidQuery(f"the join cannot be computed as records come: {why}{place}", hint=hint)

    def _side(self, part: Plan) -> str:
        while part.kind in ROW_BY_ROW and part.below[0].inputs:
            part = part.below[0]
        if part.kind == "Join":
            raise self.refused("there are several", "derive a dataset by each join, one from the other")
        if part.kind != "View" or not part.inputs:
            raise self.refused(f"{part.kind} is no input", "join two inputs, each filtered if need be")
        return part.inputs[0]


def planned_join(sql: str, top: Plan) -> PlannedJoin | None:
    """The join of a query, if there is nothing else above it."""
    above: list[Plan] = []
    while top.kind in ROW_BY_ROW and top.below:
        above.append(top)
        top = top.below[0]
    return PlannedJoin(sql, tuple(above), top) if top.kind == "Join" else None


def interval_join_of(planned: PlannedJoin, event_times: Mapping[str, str]) -> IntervalJoin:
    """``event_times`` are the columns of all inputs, in their order.

    Raises:
        InvalidQuery: it cannot be computed as records come.
    """
    left, right = planned.sides()
    keeps = _KEEPS.get(planned.kind)
    if keeps is None:
        raise planned.refused("SEMI and ANTI ask what there is not", "write JOIN or LEFT JOIN")
    if left == right and any(keeps):
        raise planned.refused(f"input '{left}' is on both sides of an outer join", "write JOIN")
    before_us, after_us = _bounds(planned, event_times)
    if before_us is None or after_us is None:
        raise planned.refused("it does not say how far apart the event times of both may be", f"write {_BOUNDS}")
    inputs = list(event_times)
    return IntervalJoin(
        JoinSide(inputs.index(left), -(-before_us // _US_IN_MS), keeps[0]),
        JoinSide(inputs.index(right), -(-after_us // _US_IN_MS), keeps[1]),
    )


def _bounds(planned: PlannedJoin, event_times: Mapping[str, str]) -> tuple[int | None, int | None]:
    """How much earlier and later the left side may be, in microseconds."""
    wanted = {InputColumn(name, column) for name, column in event_times.items()}
    left, right = (columns_of(each, wanted) for each in planned.join.below)
    said = list(planned.said_of_times())
    before = [each.apart_us for each in said if each.column in right and each.other in left]
    after = [each.apart_us for each in said if each.column in left and each.other in right]
    return min(before, default=None), min(after, default=None)
