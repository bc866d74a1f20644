"""Looks in a plan of DataFusion for what would give another result each time: rows of a UNION come as they come.

Its parts are computed side by side. Where a plan merges them, counts and whole sums are the same in any order; the
first row of a group, a list of rows, the number of a row, a sum of floats are not. Those are refused unless the query
says the order. A step of its own for the UNION helps too: its parts are put one after another before the next step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from opendatafabric.errors import InvalidQuery

_AS_THEY_COME: Final = ("CoalescePartitionsExec", "RepartitionExec")
_SORTED: Final = ("SortExec", "SortPreservingMergeExec")
_LIMITS: Final = ("GlobalLimitExec", "LocalLimitExec")
_WINDOWS: Final = ("WindowAggExec", "BoundedWindowAggExec")

_OF_GROUPS: Final = frozenset({"array_agg", "first_value", "last_value", "nth_value", "string_agg"})
_OF_WINDOWS: Final = _OF_GROUPS | {"lag", "lead", "ntile", "row_number"}
_OF_FLOATS: Final = frozenset(
    {"avg", "corr", "covar_pop", "covar_samp", "stddev", "stddev_pop", "sum", "var", "var_pop"}
    | {f"regr_{name}" for name in ("avgx", "avgy", "intercept", "r2", "slope", "sxx", "sxy", "syy")}
)
_CALL: Final = re.compile(r"\b([a-z_][a-z0-9_]*)\(")
_FRAME: Final = re.compile(r" (?:ROWS|RANGE|GROUPS) BETWEEN ")
_IS_FLOAT: Final = re.compile(r"(?: (?:[^:\[\],]|\[[^\]]*\])*)?:Float\d\d")


def check_row_order(frame: Any) -> None:
    """That the result of ``frame`` does not depend on the order in which parts are merged.

    Raises:
        InvalidQuery: it does; names the function or the LIMIT.
    """
    merges = list(_merges(frame.execution_plan().display_indent()))
    if not merges:
        return
    typed = frame.logical_plan().display_indent_schema()
    floats = {name for name, rest in _calls(typed, _OF_FLOATS.__contains__) if _IS_FLOAT.match(rest)}
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


def _check_merged(node: str, above: list[str], floats: set[str]) -> None:
    if "fetch=" in node:
        raise _refused("LIMIT")
    is_sorted = False
    for parent in above:
        is_sorted = is_sorted or parent.startswith(_SORTED)
        if parent.startswith(_LIMITS) and not is_sorted:
            raise _refused("LIMIT")
        for name in _unordered(parent, floats, is_sorted=is_sorted):
            raise _refused(f"'{name}'" + (" of floating point numbers" if name in floats else ""))


def _unordered(node: str, floats: set[str], *, is_sorted: bool) -> Iterator[str]:
    """Functions of a node that depend on the order of rows, and have none said."""
    if node.startswith("AggregateExec") and not is_sorted:
        calls = _calls(node, (_OF_GROUPS | floats).__contains__)
        yield from (name for name, rest in calls if not rest.startswith(" ORDER BY ["))
    elif node.startswith(_WINDOWS):
        calls = _calls(node, (_OF_WINDOWS | floats).__contains__)
        yield from (name for name, rest in calls if " ORDER BY [" not in _FRAME.split(rest, maxsplit=1)[0])


def _calls(text: str, wanted: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Names of functions that are called, and what follows the parenthesis that closes the call."""
    for found in _CALL.finditer(text):
        if wanted(found[1]):
            yield found[1], _behind_call(text, found.end())


def _behind_call(text: str, start: int) -> str:
    depth = 1
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if not depth:
            return text[index + 1 :]
    return ""


def _refused(what: str) -> InvalidQuery:
    return InvalidQuery(
        f"the query uses {what} over a UNION, whose rows come in another order each time",
        hint="say the order by ORDER BY, or make the UNION a step of its own before this one",
    )
