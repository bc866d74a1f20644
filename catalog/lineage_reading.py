"""What is derived from what in a repository that nobody serves: read from its chains, whatever state they are in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


async def read_lineage(
    repository: DatasetRepository, entry: DatasetEntry, reach: Reach | None = None
) -> tuple[LineageGraph, Sequence[Unread]]:
    """The lineage of a dataset, every chain as far as it can be read, and what cannot be placed. Nothing of it is kept.

    Raises:
        StorageError: the repository cannot be listed.
    """
    unread: list[Unread] = []
    problems: dict[DatasetId, str] = {}
    async with open_catalog(_FORGOTTEN) as catalog:
        owner = await catalog.accounts.create(_NOBODY)
        async for place in repository.places():
            if place.pending:
                continue
            try:
                await _read(catalog, owner.id, place, problems)
            except OdfError as error:
                unread.append(Unread(str(place.alias), error.message))
        facts = await catalog.dataset_facts.of(entry.id)
        start = Node(entry.id, entry.alias, None if facts is None else facts.kind)
        graph = await catalog.lineage.around(start, OPERATOR, reach)
    return graph.with_problems(problems), unread


async def _read(catalog: Catalog, owner: AccountId, place: DatasetPlace, problems: dict[DatasetId, str]) -> None:
    """Raises ``OdfError`` where not even the id can be read."""
    dataset_id = place.dataset_id or (await place.dataset.seed()).dataset_id
    await catalog.datasets.put(DatasetRecord(dataset_id, place.alias, owner, Visibility.PRIVATE))
    try:
        await refresh_facts(catalog.dataset_facts, dataset_id, place.dataset)
    except OdfError as error:
        problems[dataset_id] = error.message
