"""Garbage collection of a whole repository: each dataset by itself, then what interrupted changes left in its root."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound
from opendatafabric.multihash import Multihash
from storage.collect import Collected, collect
from storage.repositories import DatasetRepository

SparedHeads = Callable[[DatasetId], Awaitable[Sequence[Multihash]]]
"""Heads of a dataset that were its own until a short while ago: what they lead to stays."""


@dataclass(frozen=True, slots=True)
class CollectedDataset:
    """What was collected from the dataset in the folder ``place``; ``name`` is its alias."""

    place: str
    name: str
    collected: Collected

    def as_dict(self) -> dict[str, object]:
        """Plain JSON values."""
        return {"name": self.name, "place": self.place, **self.collected.as_dict()}


async def collect_repository(
    repository: DatasetRepository, *, grace_s: float, dry_run: bool = False, spared: SparedHeads | None = None
) -> AsyncIterator[CollectedDataset]:
    """Collect every dataset, new ones whose first push is under way included; see ``collect``.

    Datasets that vanish meanwhile are left out, and so are damaged ones that nobody can tell the identity of.
    """
    async for entry in repository.iterate(include_pending=True):
        try:
            heads = () if spared is None else await spared(entry.id)
            collected = await collect(entry.dataset, grace_s=grace_s, dry_run=dry_run, spared=heads)
        except DatasetNotFound:
            continue
        yield CollectedDataset(entry.place, str(entry.alias), collected)
