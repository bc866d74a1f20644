"""Where the columns of a plan come from: which of an input's own, if they were passed on as they are.

Works on the plan as Spark writes it down: its nodes in one list, each before those below it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pipeline.epochs.classify import POSITION
from pipeline.epochs.plan_tree import short
from pipeline.gate import Node

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class InputColumn:
    """A column of an input, whose name is in lower case."""

    input: str
    name: str


@dataclass(frozen=True, slots=True)
class Part:
    """A node of a plan with what is below it.

    ``output`` are the columns it gives, by their numbers in the plan; ``origins`` say which columns of inputs they are,
    several where parts were united. ``inputs`` are those it reads, as often as it does.
    """

    node: Node
    below: tuple[Part, ...] = ()
    output: tuple[int, ...] = ()
    origins: Mapping[int, tuple[InputColumn, ...]] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The last part of its class."""
        return short(self.node)


def folded(nodes: Sequence[Node], made: Callable[[Node, tuple[T, ...]], T]) -> T:
    """What is ``made`` of the first node, given what was made of those below it; of any depth."""
    stack: list[T] = []
    for node in reversed(nodes):
        below = tuple(stack.pop() for _ in range(int(node["num-children"])))
        stack.append(made(node, below))
    (top,) = stack
    return top


def part_of(plan: Sequence[Node]) -> Part:
    """The plan as a tree."""
    return folded(plan, _part)


def columns_of(part: Part, wanted: Collection[InputColumn]) -> set[int]:
    """The columns of ``part`` that are any of those of inputs, and nothing else."""
    return {number for number, origin in part.origins.items() if all(each in wanted for each in origin)}


def number_of(node: Node) -> int:
    """Of a column."""
    return int(node["exprId"]["id"])


def _part(node: Node, below: tuple[Part, ...]) -> Part:
    inputs = tuple(name for each in below for name in each.inputs)
    origins = {number: origin for each in below for number, origin in each.origins.items()}
    kind = short(node)
    if not below:
        return Part(node, output=tuple(number_of(column[0]) for column in node.get("output", [])))
    if kind == "View" and not inputs and _are_records(below[0]):
        return _input(node, below[0])
    if kind == "Project":
        return Part(node, below, *_projected(node, origins), inputs)
    if kind == "Union":
        return Part(node, below, below[0].output, _united(below), inputs)
    output = tuple(number for each in below for number in each.output)
    if kind == "Generate":
        output += tuple(number_of(column[0]) for column in node["generatorOutput"])
    return Part(node, below, output, origins, inputs)


def _are_records(part: Part) -> bool:
    """Records of inputs have a hidden column."""
    while part.below:
        part = part.below[0]
    return [column[0]["name"] for column in part.node.get("output", [])][-1:] == [POSITION]


def _input(view: Node, below: Part) -> Part:
    """Inputs are views of their names over the records; names in lower case, for Spark does not tell them apart."""
    name = str(view["desc"]["identifier"]["table"]).lower()
    columns = [field["name"] for field in view["desc"]["schema"]["fields"]]
    origins = {number: (InputColumn(name, column),) for number, column in zip(below.output, columns, strict=False)}
    return Part(view, (below,), below.output, origins, (name,))


def _projected(
    node: Node, origins: Mapping[int, tuple[InputColumn, ...]]
) -> tuple[tuple[int, ...], dict[int, tuple[InputColumn, ...]]]:
    """Columns that are passed on keep their origin, under another name too."""
    output: list[int] = []
    passed: dict[int, tuple[InputColumn, ...]] = {}
    for expression in node["projectList"]:
        output.append(number_of(expression[0]))
        source = expression[-1]
        is_passed = len(expression) == 1 or (len(expression) == 2 and short(expression[0]) == "Alias")
        if is_passed and short(source) == "AttributeReference" and number_of(source) in origins:
            passed[output[-1]] = origins[number_of(source)]
    return tuple(output), passed


def _united(below: tuple[Part, ...]) -> dict[int, tuple[InputColumn, ...]]:
    """Columns are united by their places; one has an origin if it has one in each part."""
    united: dict[int, tuple[InputColumn, ...]] = {}
    for place, number in enumerate(below[0].output):
        found = [each.origins.get(each.output[place]) for each in below]
        known = [origin for origin in found if origin is not None]
        if len(known) == len(found):
            united[number] = tuple(column for origin in known for column in origin)
    return united
