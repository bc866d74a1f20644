"""Which queries can be computed record by record: what is in their plan, after names were looked up.

Works on the plan as Spark writes it down, so nothing here asks Spark. Only what is on the list is computed; all else is
refused with its place in the query and what to write instead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from opendatafabric.errors import InvalidQuery
from pipeline.gate import Node, short, walk
from pipeline.sql_text import place_of

POSITION: Final = "__odf_position"
"""The hidden column of the inputs: which record a row came from."""

STATELESS: Final = frozenset({"Filter", "Generate", "Project", "SubqueryAlias", "Union", "View"})
"""Nodes that give a row because of one record alone."""

_LEAVES: Final = frozenset({"LocalRelation", "LogicalRDD"})
SUBQUERIES: Final = frozenset({"Exists", "LateralSubquery", "ListQuery", "ScalarSubquery"})
"""Expressions that have a plan of their own inside."""
_ONE_STEP: Final = "use the engine 'spark' without this version, whose queries see the records of one step together"

_REFUSED: Final = {
    "Aggregate": (
        ("group", "distinct"),
        "group by a window: GROUP BY window(event_time, '1 hour'); or leave GROUP BY, DISTINCT and aggregates out, or "
        + _ONE_STEP,
    ),
    "Distinct": (
        ("distinct", "union"),
        "write UNION ALL instead of UNION; derive a dataset by DISTINCT, and the rest from it",
    ),
    "Join": (("join",), "write JOIN … ON between two inputs; derive a dataset by the join, and the rest from it"),
    "LateralJoin": (("lateral",), "write LATERAL VIEW explode(…)"),
    "Sort": (("order", "sort"), "leave it out: records come in the order of the inputs"),
    "GlobalLimit": (("limit",), "leave LIMIT out: which records are first depends on how steps were cut"),
    "Offset": (("offset",), "leave OFFSET out: which records are first depends on how steps were cut"),
    "Window": (("over", "qualify"), f"leave functions OVER (…) out, or {_ONE_STEP}"),
    "Intersect": (("intersect",), "use UNION ALL, or a filter"),
    "Except": (("except", "minus"), "use UNION ALL, or a filter"),
    "LocalRelation": (("values",), "select from an input: a table of constants would come again with each step"),
    "OneRowRelation": ((), "select from an input: a row of constants would come again with each step"),
    "Range": (("range",), "select from an input: a table of constants would come again with each step"),
}
"""Words of the query that lead to a refused node, and what to write instead, by the last part of its class."""


def check_stateless(sql: str, plan: Sequence[Node], *, but_for: Collection[str] = ()) -> None:
    """That every row of the result of ``sql`` comes from one record; ``plan`` are the nodes of its plan.

    Nodes of the kinds ``but_for`` are left for others to judge.

    Raises:
        InvalidQuery: a part of it needs more than that.
    """
    for node in plan:
        kind = short(node)
        if kind not in STATELESS and kind not in but_for and not _is_input(node):
            raise refused(sql, kind)
        if any(short(part) in SUBQUERIES for part in walk(node)):
            raise InvalidQuery(
                "the query has a subquery among its expressions, which needs all records at once", hint=_ONE_STEP
            )


def _is_input(node: Node) -> bool:
    names = [column[0]["name"] for column in node.get("output", [])]
    return short(node) in _LEAVES and POSITION in names[-1:]


def refused(sql: str, kind: str) -> InvalidQuery:
    """For a part of the query that needs more than one record: with its place, and what to write instead."""
    words, hint = _REFUSED.get(kind, ((), "select, filter, LATERAL VIEW and UNION ALL"))
    place = next(filter(None, (place_of(sql, word) for word in words)), "")
    return InvalidQuery(f"the query needs more than one record at a time: {kind}{place}", hint=hint)
