"""Reads the chains of a repository for what is derived from what."""

from __future__ import annotations

from dataclasses import dataclass

from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError
from opendatafabric.metadata.events import SetTransform
from pipeline.commit import position_of
from pipeline.lineage.graph import LineageGraph, Node
from storage.places import DatasetPlace
from storage.repositories import DatasetRepository


@dataclass(frozen=True, slots=True)
class Unread:
    """A dataset of which not even the id is known."""

    name: str
    problem: str


async def read_graph(repository: DatasetRepository) -> tuple[LineageGraph, list[Unread]]:
    """Every dataset as far as its chain can be read, and those that cannot be placed.

    Raises:
        StorageError: the repository cannot be listed.
    """
    nodes: list[Node] = []
    unread: list[Unread] = []
    async for place in repository.places():
        if place.pending:
            continue
        found = await _node_of(place)
        if isinstance(found, Node):
            nodes.append(found)
        else:
            unread.append(found)
    return LineageGraph(nodes), unread


async def _node_of(place: DatasetPlace) -> Node | Unread:
    name = str(place.alias)
    try:
        position = await position_of(place.dataset)
        seed, transform = position.seed, position.state.transform
    except OdfError as error:
        if place.dataset_id is None:
            return Unread(name, error.message)
        return Node(place.dataset_id, name, problem=error.message)
    if not isinstance(transform, SetTransform):
        problem = None if transform is None else "its transform is of a newer version"
        return Node(seed.dataset_id, name, seed.dataset_kind, problem=problem)
    inputs = tuple(each.dataset_ref for each in transform.inputs if isinstance(each.dataset_ref, DatasetId))
    return Node(seed.dataset_id, name, seed.dataset_kind, inputs)
