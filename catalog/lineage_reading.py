"""What is derived from what in a repository that nobody serves: read from its chains, whatever state they are in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from catalog.catalog import Catalog, open_catalog
from catalog.datasets import DatasetRecord
from catalog.facts_refresh import refresh_facts
from catalog.lineage import Reach
from catalog.lineage_graph import LineageGraph, Node
from catalog.readers import OPERATOR
from catalog.visibility import Visibility
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import OdfError
from opendatafabric.names import AccountName
from storage.places import DatasetPlace
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry

_FORGOTTEN: Final = "sqlite+aiosqlite:///:memory:"
_NOBODY: Final = AccountName("nobody")


@dataclass(frozen=True, slots=True)
class Unread:
    """A dataset of which not even the id is known."""

    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class ReadChains:
    """What chains say, in a catalog that is forgotten afterwards; ``problems`` are those of chains that cannot be read
    whole, ``unread`` datasets that cannot be placed."""

    catalog: Catalog
    problems: dict[DatasetId, str] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)

    async def lineage(self, entry: DatasetEntry, reach: Reach | None = None) -> LineageGraph:
        """Of a dataset, as far as ``reach``."""
        facts = await self.catalog.dataset_facts.of(entry.id)
        kind, head = (None, None) if facts is None else (facts.kind, facts.head)
        graph = await self.catalog.lineage.around(Node(entry.id, entry.alias, kind, head), OPERATOR, reach)
        return graph.with_problems(self.problems)

    async def read(self, owner: AccountId, place: DatasetPlace) -> None:
        """Read the chain of one more dataset."""
        try:
            dataset_id = place.dataset_id or (await place.dataset.seed()).dataset_id
        except OdfError as error:
            self.unread.append(Unread(str(place.alias), error.message))
            return
        await self.catalog.datasets.put(DatasetRecord(dataset_id, place.alias, owner, Visibility.PRIVATE))
        try:
            await refresh_facts(self.catalog.dataset_facts, dataset_id, place.dataset)
        except OdfError as error:
            self.problems[dataset_id] = error.message


@asynccontextmanager
async def read_chains(repository: DatasetRepository) -> AsyncIterator[ReadChains]:
    """Every chain of the repository, as far as it can be read.

    Raises:
        StorageError: the repository cannot be listed.
    """
    async with open_catalog(_FORGOTTEN) as catalog:
        owner, chains = await catalog.accounts.create(_NOBODY), ReadChains(catalog)
        async for place in repository.places():
            if not place.pending:
                await chains.read(owner.id, place)
        yield chains
