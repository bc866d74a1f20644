"""Copy a whole repository: a backup is itself a repository, so it can be listed, checked, served and restored from.

Only what is new is copied, and all of it is proved by its hash on the way. A chain that was replaced by force at the
source is replaced in the copy too; what the copy alone has stays there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import DatasetNotFound
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry
from sync.simple import copy_chain
from sync.transfer import RepositoryTarget, TransferOptions, TransferResult


@dataclass(frozen=True, slots=True)
class CopiedDataset:
    """What one dataset came to."""

    alias: DatasetAlias
    result: TransferResult


async def copy_repository(source: DatasetRepository, target: DatasetRepository) -> AsyncIterator[CopiedDataset]:
    """Bring every dataset of ``source`` into ``target`` under the same name and id.

    Raises:
        HashMismatch, ObjectNotFound, BlockNotFound: a dataset of ``source`` is damaged; those before it are copied.
        StorageFull: no room; it can be repeated and goes on where it stopped.
        NameCollision: the name belongs to another dataset there.
    """
    async for entry in source.iterate():
        await _rename_if_needed(target, entry)
        place = RepositoryTarget(target, entry.alias)
        result = await copy_chain(entry.dataset, place, options=TransferOptions(force=True))
        yield CopiedDataset(entry.alias, result)


async def _rename_if_needed(target: DatasetRepository, entry: DatasetEntry) -> None:
    try:
        there = await target.find(entry.id, include_pending=True)
    except DatasetNotFound:
        return
    if there.alias != entry.alias:
        await target.rename(entry.id, entry.alias)
