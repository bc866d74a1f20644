"""Which datasets are derived from which: the graph, and the trees of it that lead up and down from one dataset.

Nothing here reads. A graph of strangers may hold circles and meet itself in many ways, so a tree names every dataset
as often as something leads to it, and goes on behind it once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.multihash import Multihash


@dataclass(frozen=True, slots=True)
class Node:
    """A dataset. Without an ``alias`` it is not here, or not for whoever asks; ``called`` is what queries call it
    then. ``problem`` says why its chain could not be read."""

    dataset_id: DatasetId
    alias: DatasetAlias | None = None
    kind: str | None = None
    head: Multihash | None = None
    called: str | None = None
    problem: str | None = None

    @property
    def is_here(self) -> bool:
        """Whether it is, for whoever asks."""
        return self.alias is not None


@dataclass(frozen=True, slots=True)
class Edge:
    """``derived_id`` is made of ``input_id``, which its query calls ``called``."""

    input_id: DatasetId
    derived_id: DatasetId
    called: str | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A place in a tree: ``depth`` steps away from where it starts. ``is_repeated``: what is behind it stands above."""

    node: Node
    depth: int
    is_last: bool = True
    is_repeated: bool = False


class LineageGraph:
    """What is known around the dataset ``start``; ``is_cut`` when more lies beyond. Inputs come in the order of the
    edges, what is derived in that of the nodes."""

    def __init__(self, start: DatasetId, nodes: Iterable[Node], edges: Iterable[Edge], *, is_cut: bool = False) -> None:
        self.start = start
        self.is_cut = is_cut
        self.nodes: Mapping[DatasetId, Node] = {node.dataset_id: node for node in nodes}
        self.edges = tuple(each for each in edges if each.input_id in self.nodes and each.derived_id in self.nodes)
        self._inputs: dict[DatasetId, list[DatasetId]] = {}
        self._derived: dict[DatasetId, list[DatasetId]] = {}
        for each in self.edges:
            self._inputs.setdefault(each.derived_id, []).append(each.input_id)
            self._derived.setdefault(each.input_id, []).append(each.derived_id)
        order = {dataset_id: number for number, dataset_id in enumerate(self.nodes)}
        for derived in self._derived.values():
            derived.sort(key=order.__getitem__)

    def inputs_of(self, dataset_id: DatasetId) -> Sequence[DatasetId]:
        """Those of its inputs that are in the graph."""
        return self._inputs.get(dataset_id, ())

    def upstream(self) -> list[Branch]:
        """Its inputs, theirs, and so on: each before those behind it."""
        return list(_branches(self.nodes, self.start, self.inputs_of))

    def downstream(self) -> list[Branch]:
        """What is derived from it, from that, and so on."""
        return list(_branches(self.nodes, self.start, lambda each: self._derived.get(each, ())))

    def distances(self) -> Mapping[DatasetId, int]:
        """How many steps each is away, below 0 for what ``start`` is made of."""
        derived = {each.node.dataset_id: each.depth for each in nearest(self.downstream())}
        inputs = {each.node.dataset_id: -each.depth for each in nearest(self.upstream())}
        return {**derived, **inputs, self.start: 0}

    def with_problems(self, problems: Mapping[DatasetId, str]) -> LineageGraph:
        """The same, with what is wrong with some datasets."""
        nodes = [replace(each, problem=problems.get(each.dataset_id)) for each in self.nodes.values()]
        return LineageGraph(self.start, nodes, self.edges, is_cut=self.is_cut)


def nearest(branches: Iterable[Branch]) -> list[Branch]:
    """Each dataset once, where it is nearest."""
    found: dict[DatasetId, Branch] = {}
    for branch in branches:
        known = found.get(branch.node.dataset_id)
        if known is None or branch.depth < known.depth:
            found[branch.node.dataset_id] = branch
    return [*found.values()]


def _branches(
    nodes: Mapping[DatasetId, Node], start: DatasetId, next_of: Callable[[DatasetId], Sequence[DatasetId]]
) -> Iterator[Branch]:
    """In the order of a walk that goes down first, with a stack: chains of datasets may be longer than Python's."""
    gone_behind = {start}
    waiting = _next_branches(nodes, next_of(start), 1)
    while waiting:
        branch = waiting.pop()
        found = branch.node.dataset_id
        behind = next_of(found)
        is_repeated = found in gone_behind and bool(behind)
        yield Branch(branch.node, branch.depth, branch.is_last, is_repeated)
        if not is_repeated:
            gone_behind.add(found)
            waiting += _next_branches(nodes, behind, branch.depth + 1)


def _next_branches(nodes: Mapping[DatasetId, Node], ids: Sequence[DatasetId], depth: int) -> list[Branch]:
    """The first one at the end, where it is taken from."""
    return [Branch(nodes[each], depth, number == len(ids) - 1) for number, each in enumerate(ids)][::-1]
