"""What is derived from what, as far as somebody may see it: looked up in the edges that chains say.

Inputs that are not here, or not for whoever asks, are told as the chain of the dataset tells them that is made of
them: these two cannot be told apart, and nothing behind them is told. What is derived is told if he may see it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, Select, and_, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.facts_tables import dataset_facts
from catalog.lineage_graph import Edge, LineageGraph, Node
from catalog.lineage_tables import dataset_inputs
from catalog.readers import Reader
from catalog.tables import datasets
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.index_limits import LINEAGE_DEPTH_MAX, LINEAGE_EDGES_MAX, LINEAGE_NODES_MAX
from opendatafabric.multihash import Multihash

_TOLD: Final = (datasets.c.id, datasets.c.alias, datasets.c.visibility, dataset_facts.c.kind, dataset_facts.c.head)
_HERE: Final = select(*_TOLD).select_from(
    datasets.outerjoin(dataset_facts, dataset_facts.c.dataset_id == datasets.c.id)
)


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a lineage is followed: steps in each direction, and datasets in all."""

    depth_max: int = LINEAGE_DEPTH_MAX
    nodes_max: int = LINEAGE_NODES_MAX


class Lineage:
    """The edges of one catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def around(self, start: Node, reader: Reader, reach: Reach | None = None) -> LineageGraph:
        """What ``reader`` may see of what ``start`` is made of, and of what is made of it: the nearest first. That he
        may see ``start`` is known already."""
        async with self._database.reading() as connection:
            walk = _Walk(connection, reader, reach or Reach(), start)
            await walk.up()
            await walk.down()
            return LineageGraph(start.dataset_id, walk.nodes.values(), await walk.edges(), is_cut=walk.is_cut)


class _Walk:
    """One walk through the edges, level by level."""

    def __init__(self, connection: AsyncConnection, reader: Reader, reach: Reach, start: Node) -> None:
        self._connection = connection
        self._reader = reader
        self._reach = reach
        self._start = start.dataset_id
        self.nodes = {start.dataset_id: start}
        self.is_cut = False

    async def up(self) -> None:
        """To the inputs of those that are here, and theirs."""
        level: Collection[DatasetId] = [self._start]
        for _ in range(self._reach.depth_max):
            found = await self._inputs(level)
            here = await self._here(datasets.c.id.in_([str(each) for each in found]), len(found))
            self.nodes |= {each: here.get(each, Node(each, called=called)) for each, called in found.items()}
            level = here
            if not level:
                return
        self.is_cut |= bool(await self._inputs(level))

    async def down(self) -> None:
        """To what is made of it, and of that."""
        level: Collection[DatasetId] = [self._start]
        for _ in range(self._reach.depth_max):
            level = await self._derived(level)
            self.nodes |= level
            if not level:
                return
        self.is_cut |= bool(await self._derived(level))

    async def edges(self) -> list[Edge]:
        """All between the datasets that were found, as the chains say that may be read."""
        inputs = dataset_inputs.c
        query = (
            select(inputs.input_id, inputs.dataset_id, inputs.alias)
            .where(inputs.dataset_id.in_([str(each) for each, node in self.nodes.items() if node.is_here]))
            .where(inputs.input_id.in_([str(each) for each in self.nodes]))
            .order_by(inputs.dataset_id, inputs.position)
        )
        return [_edge(row) for row in await self._rows(query, LINEAGE_EDGES_MAX)]

    async def _inputs(self, level: Collection[DatasetId]) -> dict[DatasetId, str | None]:
        """Those of the ``level`` that were not found yet, by what a query calls them."""
        inputs = dataset_inputs.c
        query = (
            select(inputs.input_id, func.min(inputs.alias).label("alias"))
            .where(inputs.dataset_id.in_([str(each) for each in level]), inputs.input_id.not_in(self._found()))
            .group_by(inputs.input_id)
            .order_by(func.min(inputs.position), inputs.input_id)
        )
        return {DatasetId.from_text(row.input_id): row.alias for row in await self._rows(query, self._room())}

    async def _derived(self, level: Collection[DatasetId]) -> dict[DatasetId, Node]:
        made_of = select(dataset_inputs.c.dataset_id).where(
            dataset_inputs.c.input_id.in_([str(each) for each in level])
        )
        wanted = and_(datasets.c.id.in_(made_of), datasets.c.id.not_in(self._found()))
        return await self._here(wanted, self._room())

    async def _here(self, wanted: ColumnElement[bool], count: int) -> dict[DatasetId, Node]:
        """Datasets that may be seen, by name."""
        query = _HERE.where(wanted, self._reader.rows()).order_by(datasets.c.alias_folded)
        rows = [row for row in await self._rows(query, count) if self._sees(row)]
        return {DatasetId.from_text(row.id): _node(row) for row in rows}

    async def _rows(self, query: Select[Any], count: int) -> Sequence[Row[Any]]:
        rows: Sequence[Row[Any]] = (await self._connection.execute(query.limit(count + 1))).all()
        self.is_cut |= len(rows) > count
        return rows[:count]

    def _sees(self, row: Row[Any]) -> bool:
        return self._reader.sees(DatasetAlias.from_text(row.alias), Visibility(row.visibility))

    def _found(self) -> list[str]:
        return [str(each) for each in self.nodes]

    def _room(self) -> int:
        return self._reach.nodes_max - len(self.nodes)


def _node(row: Row[Any]) -> Node:
    head = None if row.head is None else Multihash.from_text(row.head)
    return Node(DatasetId.from_text(row.id), DatasetAlias.from_text(row.alias), row.kind, head)


def _edge(row: Row[Any]) -> Edge:
    return Edge(DatasetId.from_text(row.input_id), DatasetId.from_text(row.dataset_id), row.alias)
