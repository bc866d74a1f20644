"""Looks in a plan of DataFusion for what would give another result each time, since values come in no order.

The parts of a UNION are computed side by side. Where a plan merges them, counts and whole sums are the same in any
order; the first row of a group, a list of rows, the number of a row, a sum of floats are not. Those are refused unless
the query says the order. A step of its own for the UNION helps too: its parts are put one after another before the next
step. DISTINCT values come in no order either, where the plan keeps them in a set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import Any, Final, NamedTuple

from opendatafabric.errors import InvalidQuery

_AS_THEY_COME: Final = ("CoalescePartitionsExec", "RepartitionExec")
_SORTED: Final = ("SortExec", "SortPreservingMergeExec")
_LIMITS: Final = ("GlobalLimitExec", "LocalLimitExec")
_WINDOWS: Final = ("WindowAggExec", "BoundedWindowAggExec")

_LISTS: Final = frozenset({"array_agg", "string_agg"})
_OF_GROUPS: Final = _LISTS | {"first_value", "last_value", "nth_value"}
_OF_WINDOWS: Final = _OF_GROUPS | {"lag", "lead", "ntile", "row_number"}
_OF_FLOATS: Final = frozenset(
    {"avg", "corr", "covar_pop", "covar_samp", "stddev", "stddev_pop", "sum", "var", "var_pop"}
    | {f"regr_{name}" for name in ("avgx", "avgy", "intercept", "r2", "slope", "sxx", "sxy", "syy")}
)
_CALL: Final = re.compile(r"\b([a-z_][a-z0-9_]*)\(")
_FRAME: Final = re.compile(r" (?:ROWS|RANGE|GROUPS) BETWEEN ")
_IS_FLOAT: Final = re.compile(r"(?: (?:[^:\[\],]|\[[^\]]*\])*)?:Float\d\d")


def check_row_order(frame: Any) -> None:
    """That the result of ``frame`` does not depend on an order that nobody said.

    Raises:
        InvalidQuery: it does; names the function or the LIMIT.
    """
    plan = frame.execution_plan().display_indent()
    merges = list(_merges(plan))
    if not merges and "(DISTINCT " not in plan:
        return
    typed = frame.logical_plan().display_indent_schema()
    floats = {call.name for call in _calls(typed, _OF_FLOATS) if _IS_FLOAT.match(call.rest)}
    for line in plan.splitlines():
        _check_distinct(line.strip(), floats)
    for node, above in merges:
        _check_merged(node, above, floats)


def _merges(plan: str) -> Iterator[tuple[str, list[str]]]:
    """Each node that merges parts as they come, and those on the way up from it, the nearest first."""
    above: list[tuple[int, str]] = []
    for line in plan.splitlines():
        node = line.strip()
        depth = len(line) - len(line.lstrip())
        above = [(each, name) for each, name in above if each < depth]
        if node.startswith(_AS_THEY_COME) and not node.endswith("input_partitions=1"):
            yield node, [name for _, name in above[::-1]]
        above.append((depth, node))


def _check_distinct(node: str, floats: set[str]) -> None:
    if not node.startswith(("AggregateExec", *_WINDOWS)):
        return
    for call in _calls(node, _LISTS | floats):
        is_ordered = node.startswith("AggregateExec") and call.rest.startswith(" ORDER BY [")
        if call.arguments.startswith("DISTINCT ") and not is_ordered:
            raise InvalidQuery(
                f"the query uses {_told(call.name, floats)} of DISTINCT values, which come in another order each time",
                hint="say the order by ORDER BY inside the function, or select DISTINCT rows in a step of their own",
            )


def _check_merged(node: str, above: list[str], floats: set[str]) -> None:
    if "fetch=" in node:
        raise _refused("LIMIT")
    is_sorted = False
    for parent in above:
        is_sorted = is_sorted or parent.startswith(_SORTED)
        if parent.startswith(_LIMITS) and not is_sorted:
            raise _refused("LIMIT")
        for name in _unordered(parent, floats, is_sorted=is_sorted):
            raise _refused(_told(name, floats))


def _unordered(node: str, floats: set[str], *, is_sorted: bool) -> Iterator[str]:
    """Functions of a node that depend on the order of rows, and have none said."""
    if node.startswith("AggregateExec") and not is_sorted:
        calls = _calls(node, _OF_GROUPS | floats)
        yield from (call.name for call in calls if not call.rest.startswith(" ORDER BY ["))
    elif node.startswith(_WINDOWS):
        calls = _calls(node, _OF_WINDOWS | floats)
        yield from (call.name for call in calls if " ORDER BY [" not in _FRAME.split(call.rest, maxsplit=1)[0])


class _Call(NamedTuple):
    """In the text of a plan; ``rest`` is what follows its last parenthesis."""

    name: str
    arguments: str
    rest: str


def _calls(text: str, names: Set[str]) -> Iterator[_Call]:
    for found in _CALL.finditer(text):
        if found[1] in names:
            end = _end_of_call(text, found.end())
            yield _Call(found[1], text[found.end() : end], text[end + 1 :])


def _end_of_call(text: str, start: int) -> int:
    depth = 1
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if not depth:
            return index
    return len(text)


def _told(name: str, floats: set[str]) -> str:
    return f"'{name}'" + (" of floating point numbers" if name in floats else "")


def _refused(what: str) -> InvalidQuery:
    return InvalidQuery(
        f"the query uses {what} over a UNION, whose rows come in another order each time",
        hint="say the order by ORDER BY, or make the UNION a step of its own before this one",
    )
