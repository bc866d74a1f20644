"""The plan of a query as a tree, and where its columns come from. Works on what Spark writes down, and asks it nothing.

Columns have numbers. An expression is a list of nodes, its own first and then those of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from pipeline.epochs.classify import POSITION
from pipeline.gate import Node, expressions, short

T = TypeVar("T")
Expression = list[Node]
_LISTS: Final = {"Project": "projectList", "Aggregate": "aggregateExpressions"}


@dataclass(frozen=True, slots=True)
class InputColumn:
    """A column of an input, whose name is in lower case: Spark does not tell them apart."""

    input: str
    name: str


Origins = Mapping[int, tuple[InputColumn, ...]]


@dataclass(frozen=True, slots=True)
class Plan:
    """A node of the plan and those below it.

    ``numbers`` are the columns that it gives. ``origins`` say of those that were passed on as they are, under whatever
    names, which columns of inputs they are: several where parts were united. ``inputs`` are those it reads, as often as
    it does.
    """

    node: Node
    below: tuple[Plan, ...] = ()
    numbers: tuple[int, ...] = ()
    origins: Origins = field(default_factory=dict)
    inputs: tuple[str, ...] = ()

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
        left = [self]
        while left:
            each = left.pop()
            yield each
            left += reversed(each.below)


def plan_tree(nodes: Sequence[Node]) -> Plan:
    """Of nodes in the order in which Spark writes them down: each before those below it."""
    return folded(nodes, _node_of)


def folded(nodes: Sequence[Node], made: Callable[[Node, tuple[T, ...]], T]) -> T:
    """What is ``made`` of the first node, given what was made of those below it; of any depth."""
    stack: list[T] = []
    for node in reversed(nodes):
        below = tuple(stack.pop() for _ in range(int(node["num-children"])))
        stack.append(made(node, below))
    (top,) = stack
    return top


def columns_of(plan: Plan, wanted: Collection[InputColumn]) -> set[int]:
    """The columns of ``plan`` that are any of those of inputs, and nothing else."""
    return {number for number, origin in plan.origins.items() if all(each in wanted for each in origin)}


def number_of(node: Node) -> int:
    """Of a column."""
    return int(node["exprId"]["id"])


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


def _node_of(node: Node, below: tuple[Plan, ...]) -> Plan:
    inputs = tuple(name for each in below for name in each.inputs)
    origins = {number: origin for each in below for number, origin in each.origins.items()}
    kind = short(node)
    if not below:
        return Plan(node, numbers=tuple(number_of(column[0]) for column in node.get("output", [])))
    if kind == "View" and not inputs and _are_records(below[0]):
        return _input(node, below[0])
    if kind in _LISTS:
        return Plan(node, below, *_listed(node, origins), inputs)
    if kind == "Union":
        return Plan(node, below, below[0].numbers, _united(below), inputs)
    output = tuple(number for each in below for number in each.numbers)
    if kind == "Generate":
        output += tuple(number_of(column[0]) for column in node["generatorOutput"])
    return Plan(node, below, output, origins, inputs)


def _are_records(part: Plan) -> bool:
    """Records of inputs have a hidden column."""
    while part.below:
        part = part.below[0]
    return [column[0]["name"] for column in part.node.get("output", [])][-1:] == [POSITION]


def _input(view: Node, below: Plan) -> Plan:
    """Inputs are views of their names over the records."""
    name = str(view["desc"]["identifier"]["table"]).lower()
    columns = [each["name"] for each in view["desc"]["schema"]["fields"]]
    origins = {number: (InputColumn(name, column),) for number, column in zip(below.numbers, columns, strict=False)}
    return Plan(view, (below,), below.numbers, origins, (name,))


def _listed(node: Node, origins: Origins) -> tuple[tuple[int, ...], Origins]:
    """Columns that are passed on keep their origin, under another name too."""
    numbers: list[int] = []
    passed: dict[int, tuple[InputColumn, ...]] = {}
    for expression in node[_LISTS[short(node)]]:
        numbers.append(number_of(expression[0]))
        source = expression[-1]
        is_passed = len(expression) == 1 or (len(expression) == 2 and short(expression[0]) == "Alias")
        if is_passed and short(source) == "AttributeReference" and number_of(source) in origins:
            passed[numbers[-1]] = origins[number_of(source)]
    return tuple(numbers), passed


def _united(below: tuple[Plan, ...]) -> Origins:
    """Columns are united by their places; one has an origin if it has one in each part."""
    united: dict[int, tuple[InputColumn, ...]] = {}
    for place, number in enumerate(below[0].numbers):
        found = [each.origins.get(each.numbers[place]) for each in below]
        known = [origin for origin in found if origin is not None]
        if len(known) == len(found):
            united[number] = tuple(column for origin in known for column in origin)
    return united
