"""The lineage of a dataset as JSON values: for the API and for the command line."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import TypedDict

from catalog.lineage_graph import LineageGraph, Node
from opendatafabric.did import DatasetId
from repo_server.pages.lineage_drawing import NOT_HERE, Look


class LineageNode(TypedDict):
    """A dataset. Without ``alias`` it is not here, or not for the caller: then ``calledAs`` is what the query of a
    dataset calls it that is made of it. ``distance`` is in steps, below 0 for what the dataset asked for is made of."""

    id: str
    alias: str | None
    calledAs: str | None
    kind: str | None
    head: str | None
    standing: str
    distance: int
    problem: str | None


class LineageEdge(TypedDict):
    """``derived`` is made of ``input``, which its query calls ``calledAs``."""

    input: str
    derived: str
    calledAs: str | None


class LineageTold(TypedDict):
    """What a dataset is made of, and what is made of it; ``cut`` when more lies beyond."""

    dataset: str
    nodes: list[LineageNode]
    edges: list[LineageEdge]
    cut: bool


def plain_lineage(graph: LineageGraph, look: Look) -> LineageTold:
    """The whole graph, the nearest datasets first."""
    distances = graph.distances()
    return {
        "dataset": str(graph.start),
        "nodes": [_node(node, look, distances) for node in graph.nodes.values()],
        "edges": [
            {"input": str(each.input_id), "derived": str(each.derived_id), "calledAs": each.called}
            for each in graph.edges
        ],
        "cut": graph.is_cut,
    }


def _node(node: Node, look: Look, distances: Mapping[DatasetId, int]) -> LineageNode:
    address = look.addresses.get(node.dataset_id)
    return {
        "id": str(node.dataset_id),
        "alias": None if address is None else str(address),
        "calledAs": node.called,
        "kind": node.kind,
        "head": None if node.head is None else str(node.head),
        "standing": look.standings.get(node.dataset_id, NOT_HERE),
        "distance": distances.get(node.dataset_id, 0),
        "problem": node.problem,
    }
