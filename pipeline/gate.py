"""The gate for queries of others: a list of what is allowed, checked on every node of the parsed plan.

Parsing has no effects; nothing is looked up or run before the plan was walked. Names of relations must be those the
caller gave or that the query made itself; functions must be on the list; whatever depends on the clock, on chance or on
the machine is refused. After Spark has looked up the names, ``analyzed`` looks again, at what only shows then.
The sandbox (``sandbox.py``) is the other wall.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from opendatafabric.errors import InvalidQuery, LimitExceeded
from opendatafabric.limits import QUERY_CHARS_MAX, QUERY_DEPTH_MAX, QUERY_NODES_MAX
from pipeline.gate_lists import (
    CLOCK_WORDS,
    FUNCTIONS,
    HINTS,
    MAKE_NO_TEXT,
    NEED_ARGUMENTS,
    NODE_WORDS,
    NODES,
    ORDER_DEPENDENT,
    ORDERED,
    PHRASES,
)
from pipeline.spark_api import frame_of
from pipeline.sql_text import depth_of, first_unclear_time, line_and_column, names_the_clock, place_of, tokens
from pipeline.window_text import check_windows

_ANALYSIS: Final = "org.apache.spark.sql.catalyst.analysis."
_LOGICAL: Final = "org.apache.spark.sql.catalyst.plans.logical."
_FUNCTION_NODES: Final = {
    f"{_ANALYSIS}UnresolvedFunction": "nameParts",
    f"{_ANALYSIS}UnresolvedTableValuedFunction": "name",
}
_READS_TIMES: Final = ("Cast", "TryCast", "ParseToDate", "ParseToTimestamp", "ParseToTimestampNTZExpressionBuilder")
_NOT_FOLDED: Final = ("AttributeReference", "OuterReference", "NamedLambdaVariable", "LateralColumnAliasReference")

Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AdmittedQuery:
    """A query that passed, with the plan that was looked at: the text is not parsed again."""

    sql: str
    plan: Any


@dataclass(frozen=True, slots=True)
class AnalyzedQuery:
    """A query whose names were looked up: the records it gives, not computed yet, and the nodes of its plan."""

    sql: str
    frame: DataFrame
    nodes: list[Node]


@dataclass(frozen=True, slots=True)
class _Allowed:
    nodes: frozenset[str]
    functions: frozenset[str]


_IN_ANY_ORDER: Final = _Allowed(NODES, FUNCTIONS)
_IN_ORDER: Final = _Allowed(NODES | ORDERED, FUNCTIONS | ORDER_DEPENDENT)


def admit(session: SparkSession, sql: str, relations: Collection[str], *, rows_in_order: bool = False) -> AdmittedQuery:
    """Parse ``sql`` and look at every node of it. ``relations`` are the names it may read.

    ``rows_in_order`` is for callers that keep the order of rows from end to end: then functions may depend on it.

    Raises:
        InvalidQuery: no SQL, or something in it is not allowed; names it, its place, and what to write instead.
        LimitExceeded: too long, or of too many parts.
    """
    if len(sql) > QUERY_CHARS_MAX:
        raise LimitExceeded("the query is too long", expected=f"at most {QUERY_CHARS_MAX} characters", found=len(sql))
    _check_text(sql)
    plan = _parse(session, sql)
    nodes = _nodes_of(plan)
    names = {name.lower() for name in relations} | {name.lower() for name in _own_names(nodes)}
    for node in nodes:
        _check_node(sql, node, names, _IN_ORDER if rows_in_order else _IN_ANY_ORDER)
    return AdmittedQuery(sql, plan)


def dataframe(session: SparkSession, sql: str, relations: Collection[str], *, rows_in_order: bool = False) -> DataFrame:
    """The records that an admitted query gives; errors as ``analyzed``."""
    return analyzed(session, sql, relations, rows_in_order=rows_in_order).frame


def analyzed(
    session: SparkSession, sql: str, relations: Collection[str], *, rows_in_order: bool = False
) -> AnalyzedQuery:
    """An admitted query; ``relations`` are temporary views of the session.

    Raises:
        InvalidQuery, LimitExceeded: as ``admit``; also names and types that do not fit.
    """
    query = admit(session, sql, relations, rows_in_order=rows_in_order)
    try:
        frame = frame_of(session, query.plan)
    except (Py4JJavaError, PySparkException) as error:
        raise InvalidQuery(f"the query does not hold: {_told(error)}") from None
    return AnalyzedQuery(sql, frame, _checked_nodes(frame))


def _checked_nodes(frame: DataFrame) -> list[Node]:
    """Look at what shows only after names were looked up: chance, and texts that are put together to name the clock.

    Raises:
        InvalidQuery: the result would not be the same on any day.
    """
    plan = frame._jdf.queryExecution().analyzed()
    if not plan.deterministic():
        raise InvalidQuery("the query gives another result each time", hint="leave out what depends on chance")
    nodes: list[Node] = json.loads(plan.toJSON())
    for expression in expressions(nodes):
        _check_times(expression)
    return nodes


def _check_text(sql: str) -> None:
    if depth_of(sql) > QUERY_DEPTH_MAX:
        raise _too_deep()
    check_windows(sql)
    unclear = first_unclear_time(sql)
    if unclear is not None:
        raise InvalidQuery(
            f"the query has a time that is no plain date: {unclear.text} (line {line_and_column(sql, unclear.start)})",
            hint="write it as '2026-01-31' or '2026-01-31T12:00:00Z', in one piece",
        )
    for word, mark in pairwise(tokens(sql)):
        hint = PHRASES.get((word.text.lower(), mark.text))
        if hint is not None:
            raise InvalidQuery(
                f"the query uses what queries may not: {word.text.upper()} (line {line_and_column(sql, word.start)})",
                hint=hint,
            )


def _parse(session: SparkSession, sql: str) -> Any:
    try:
        return session._jsparkSession.sessionState().sqlParser().parsePlan(sql)
    except (Py4JError, PySparkException) as error:
        raise InvalidQuery(f"the query is no SQL that Spark reads: {_told(error)}") from None


def _told(error: Exception) -> str:
    """The first line of what Spark says, without the query itself."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[0][:500]


def _too_deep() -> LimitExceeded:
    return LimitExceeded("the query is nested too deeply", hint="use WITH … AS for its parts")


def _nodes_of(plan: Any) -> list[Node]:
    """Everything in the plan that has a class, subqueries and lambdas too."""
    try:
        found = list(walk(json.loads(plan.toJSON())))
    except (RecursionError, Py4JError):
        raise _too_deep() from None
    if len(found) > QUERY_NODES_MAX:
        raise LimitExceeded("the query has too many parts", expected=f"at most {QUERY_NODES_MAX}", found=len(found))
    return found


def walk(value: object) -> Iterator[Node]:
    """Everything in ``value`` that has a class."""
    if isinstance(value, list):
        for item in value:
            yield from walk(item)
    elif isinstance(value, dict):
        if class_of(value):
            yield value
        for item in value.values():
            yield from walk(item)


def class_of(node: Node) -> str:
    """The full name of the class that Spark wrote down as ``node``."""
    found = node.get("class") or node.get("object") or node.get("product-class") or ""
    return str(found)


def short(node: Node) -> str:
    """The last part of the class of a node."""
    return class_of(node).rpartition(".")[2]


def _own_names(nodes: list[Node]) -> Iterator[str]:
    """Names that the query gives to parts of itself by ``WITH``."""
    for node in nodes:
        if class_of(node) == f"{_LOGICAL}UnresolvedWith":
            yield from (relation["_1"] for relation in node["cteRelations"] if isinstance(relation, dict))


def _check_node(sql: str, node: Node, names: set[str], allowed: _Allowed) -> None:
    kind = class_of(node)
    if kind not in allowed.nodes:
        raise _refused_node(sql, kind)
    if kind == f"{_ANALYSIS}UnresolvedRelation":
        _check_relation(sql, _one_name(sql, node["multipartIdentifier"]), names)
    elif node.get("allowRecursion"):
        raise InvalidQuery(f"a part of the query names itself{place_of(sql, 'recursive')}", hint="leave RECURSIVE out")
    elif kind == f"{_ANALYSIS}UnresolvedAttribute":
        _check_column(sql, node)
    elif kind in _FUNCTION_NODES:
        name = _one_name(sql, node[_FUNCTION_NODES[kind]])
        _check_function(sql, name, allowed, is_bare=not node.get("arguments"))
    elif kind == f"{_ANALYSIS}UnresolvedGenerator":
        _check_function(sql, node["name"].get("funcName", ""), allowed)
    elif kind.endswith(".Literal") and names_the_clock(str(node.get("value"))):
        raise InvalidQuery(
            f"the query has a text that Spark may take for the current time: '{node['value']}'",
            hint="give the value another name",
        )


def _one_name(sql: str, parts: str) -> str:
    """The one part of a name, as Spark prints the list of them. A comma may be a part's own or stand between two."""
    name = parts[1:-1]
    if "," in name:
        last = name.rpartition(",")[2].strip()
        raise InvalidQuery(
            f"the query names something by several parts: {name.replace(', ', '.')}{place_of(sql, last)}",
            hint="inputs are named by their alias, functions without a catalog",
        )
    return name


def _check_relation(sql: str, name: str, names: set[str]) -> None:
    if name.lower() not in names:
        raise InvalidQuery(
            f"the query reads '{name}', which is none of its inputs{place_of(sql, name)}",
            expected=", ".join(sorted(names)) or "no relation",
            hint="name an input, an earlier step or a part of its own by WITH",
        )


def _check_column(sql: str, node: Node) -> None:
    name = str(node["nameParts"])[1:-1].lower()
    if name in CLOCK_WORDS:
        raise _refused_function(sql, name)


def _check_function(sql: str, name: str, allowed: _Allowed, *, is_bare: bool = False) -> None:
    if name.lower() not in allowed.functions or (is_bare and name.lower() in NEED_ARGUMENTS):
        raise _refused_function(sql, name)


def _refused_function(sql: str, name: str) -> InvalidQuery:
    return InvalidQuery(
        f"the query uses '{name}', which is not one of the functions allowed{place_of(sql, name)}",
        hint=HINTS.get(name.lower(), "the functions allowed are listed in docs/reference/sql.md"),
    )


def _refused_node(sql: str, kind: str) -> InvalidQuery:
    last = re.split(r"[.$]", kind.rstrip("$"))[-1]
    words, hint = NODE_WORDS.get(last, ("", "a query is one SELECT over its inputs"))
    place = next(filter(None, (place_of(sql, word) for word in words.split())), "")
    return InvalidQuery(f"the query uses what queries may not: {last}{place}", hint=hint)


def expressions(value: object) -> Iterator[list[Node]]:
    """Every list of nodes, parents before children, as Spark writes trees."""
    if isinstance(value, list):
        if value and isinstance(value[0], dict) and "num-children" in value[0]:
            yield value
        for item in value:
            yield from expressions(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from expressions(item)


def _check_times(nodes: list[Node]) -> None:
    """No text put together from constants may become a time: it could be made to name the clock."""
    for index, node in enumerate(nodes):
        if short(node) not in _READS_TIMES or not _is_time(node):
            continue
        below = nodes[index + 1 : _end_of_tree(nodes, index)]
        constant = not any(short(part) in _NOT_FOLDED for part in below)
        if constant and short(below[0]) != "Literal" and any(map(_may_be_text, below)):
            raise InvalidQuery(
                "the query puts a text together and reads it as a time", hint="write the time as one literal"
            )


def _may_be_text(node: Node) -> bool:
    """Texts are made of numbers too: by their codes, by what is behind a cast."""
    kind = short(node)
    if kind == "Literal" or kind.endswith("Cast"):
        return str(node["dataType"]).startswith(("string", "binary"))
    return kind not in MAKE_NO_TEXT


def _is_time(node: Node) -> bool:
    return not short(node).endswith("Cast") or str(node.get("dataType")).startswith(("date", "timestamp"))


def _end_of_tree(nodes: list[Node], start: int) -> int:
    """Behind the last descendant of the node at ``start``."""
    open_places, index = 1, start
    while open_places and index < len(nodes):
        open_places += int(nodes[index].get("num-children", 0)) - 1
        index += 1
    return index
