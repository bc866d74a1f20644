"""The plan of a query as a tree, and where its columns come from. Works on what Spark writes down, and asks it nothing.

Columns have numbers. An expression is a list of nodes, its own first and then those of its parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.gate import Node, class_of, expressions

Expression = list[Node]
LEAVES: Final = frozenset({"LocalRelation", "LogicalRDD"})
_LISTS: Final = {"Project": "projectList", "Aggregate": "aggregateExpressions"}


@dataclass(frozen=True, slots=True)
class Plan:
    """A node of the plan and those below it."""

    node: Node
    below: tuple[Plan, ...]

    @property
    def kind(self) -> str:
        """The last part of its class."""
        return short(self.node)

    @property
    def columns(self) -> list[Expression]:
        """What a node says of its columns one by one; others have those below."""
        found: list[Expression] = self.node.get(_LISTS.get(self.kind, "output"), [])
        return found

    @property
    def outputs(self) -> list[Expression]:
        """Its columns by their places."""
        return self.columns or self.below[0].outputs

    def all(self) -> Iterator[Plan]:
        """This node and those below."""
        yield self
        for each in self.below:
            yield from each.all()


def short(node: Node) -> str:
    """The last part of the class of a node."""
    return class_of(node).rpartition(".")[2]


def plan_tree(nodes: Sequence[Node]) -> Plan:
    """Of nodes in the order in which Spark writes them down: each before those below it."""
    return _taken(iter(nodes))


def _taken(nodes: Iterator[Node]) -> Plan:
    node = next(nodes)
    return Plan(node, tuple(_taken(nodes) for _ in range(node["num-children"])))


def parts_of(expression: Expression) -> list[Expression]:
    """The expressions that the first node is made of."""
    nodes = iter(expression[1:])
    return [_part(nodes) for _ in range(expression[0]["num-children"])]


def _part(nodes: Iterator[Node]) -> Expression:
    node = next(nodes)
    return [node, *(each for _ in range(node["num-children"]) for each in _part(nodes))]


def column_of(expression: Expression) -> int | None:
    """The number of the column that an expression is or defines."""
    found = expression[0].get("exprId")
    return None if found is None else int(found["id"])


def is_column(expression: Expression) -> bool:
    """Whether it is a column as it is."""
    return short(expression[0]) == "AttributeReference"


def definitions(plan: Plan) -> dict[int, Expression]:
    """By their numbers, what columns are defined as."""
    every = [each for part in plan.all() for each in expressions(part.node)]
    named = [(column_of(each), each[1:]) for each in every if short(each[0]) == "Alias"]
    return {column: defined for column, defined in named if column is not None}


def renamed_from(column: int | None, defined: Mapping[int, Expression]) -> int | None:
    """The column that has had other names since."""
    said = None if column is None else defined.get(column)
    return renamed_from(column_of(said), defined) if said and is_column(said) else column


InputColumn = tuple[str, str]
"""An input and the name of a column of it."""


def origins(plan: Plan, column: int | None, table: str = "") -> set[InputColumn] | None:
    """The columns of inputs that a column of ``plan`` is, under whatever names; ``None`` if it is computed."""
    if plan.kind in LEAVES:
        return {(table, each[0]["name"]) for each in plan.columns if column_of(each) == column} or None
    if plan.kind == "View":
        return origins(plan.below[0], column, plan.node["desc"]["identifier"]["table"])
    if plan.kind == "Union":
        place = [column_of(each) for each in plan.outputs].index(column)
        return _all_of([origins(each, column_of(each.outputs[place]), table) for each in plan.below])
    if plan.kind == "Project":
        return _of_listed(plan, column, table)
    return origins(plan.below[0], column, table) if len(plan.below) == 1 else None


def _of_listed(plan: Plan, column: int | None, table: str) -> set[InputColumn] | None:
    for each in plan.columns:
        said = each if is_column(each) else each[1:]
        if column_of(each) == column and said and is_column(said):
            return origins(plan.below[0], column_of(said), table)
    return None


def _all_of(found: Sequence[set[InputColumn] | None]) -> set[InputColumn] | None:
    known = [each for each in found if each is not None]
    return set().union(*known) if len(known) == len(found) else None
