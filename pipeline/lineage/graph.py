"""Which datasets are derived from which: the graph, and the trees of it that lead up and down from one dataset.

Nothing here reads. A graph of strangers may hold circles and meet itself in many ways, so a tree names every dataset
as often as something leads to it, and goes on behind it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from opendatafabric.did import DatasetId
from opendatafabric.metadata.events import DatasetKind


@dataclass(frozen=True, slots=True)
class Node:
    """A dataset. Without a ``name`` it is not here; ``problem`` says why its chain could not be read."""

    dataset_id: DatasetId
    name: str | None = None
    kind: DatasetKind | None = None
    inputs: tuple[DatasetId, ...] = ()
    problem: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "id": str(self.dataset_id),
            "name": self.name,
            "kind": None if self.kind is None else self.kind.name.capitalize(),
            "inputs": [str(each) for each in self.inputs],
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class Branch:
    """A place in a tree: ``depth`` steps away from where it starts. ``is_repeated``: what is behind it stands above."""

    node: Node
    depth: int
    is_last: bool = True
    is_repeated: bool = False


class LineageGraph:
    """What is known of the datasets of one repository; an input that is not there is a node without a name."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = {node.dataset_id: node for node in nodes}
        self._derived: dict[DatasetId, list[DatasetId]] = {}
        for node in self._nodes.values():
            for each in dict.fromkeys(node.inputs):
                self._derived.setdefault(each, []).append(node.dataset_id)

    def node(self, dataset_id: DatasetId) -> Node:
        """What is known of it."""
        return self._nodes.get(dataset_id) or Node(dataset_id, problem="not in this repository")

    def upstream(self, dataset_id: DatasetId, *, depth_max: int | None = None) -> list[Branch]:
        """Its inputs, theirs, and so on: each before those behind it."""
        return list(_branches(self, dataset_id, lambda each: tuple(dict.fromkeys(self.node(each).inputs)), depth_max))

    def downstream(self, dataset_id: DatasetId, *, depth_max: int | None = None) -> list[Branch]:
        """What is derived from it, from that, and so on."""
        return list(_branches(self, dataset_id, lambda each: self._derived.get(each, ()), depth_max))


def _branches(
    graph: LineageGraph,
    start: DatasetId,
    next_of: Callable[[DatasetId], Sequence[DatasetId]],
    depth_max: int | None,
) -> Iterator[Branch]:
    """In the order of a walk that goes down first, with a stack: chains of datasets may be longer than Python's."""
    gone_behind = {start}
    waiting = _next_branches(graph, next_of(start), 1)
    while waiting:
        branch = waiting.pop()
        if depth_max is not None and branch.depth > depth_max:
            continue
        found = branch.node.dataset_id
        behind = next_of(found)
        is_repeated = found in gone_behind and bool(behind)
        yield Branch(branch.node, branch.depth, branch.is_last, is_repeated)
        if not is_repeated:
            gone_behind.add(found)
            waiting += _next_branches(graph, behind, branch.depth + 1)


def _next_branches(graph: LineageGraph, ids: Sequence[DatasetId], depth: int) -> list[Branch]:
    """The first one at the end, where it is taken from."""
    return [Branch(graph.node(each), depth, number == len(ids) - 1) for number, each in enumerate(ids)][::-1]
