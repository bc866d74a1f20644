"""Copy a whole repository: a backup is itself a repository, so it can be listed, checked, served and restored from.

Only what is new is copied, and all of it is proved by its hash on the way. A chain that was replaced by force at the
source is replaced in the copy too; what the copy alone has stays there. Verification reports are copied with a dataset.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import DatasetNotFound, LimitExceeded, ObjectNotFound
from opendatafabric.layout import REPORTS, parse_key
from opendatafabric.multihash import physical_hash
from opendatafabric.report_limits import REPORT_BYTES_MAX
from storage.protocols import ObjectReader, ObjectStore
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry
from sync.simple import copy_held_chain
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
        result = await copy_held_chain(entry.dataset, place, options=TransferOptions(force=True))
        await copy_reports(entry.dataset.objects, (await target.find(entry.id)).dataset.writable_objects())
        yield CopiedDataset(entry.alias, result)


async def copy_reports(source: ObjectReader, target: ObjectStore) -> int:
    """Bring reports of a dataset that the copy has not; how many these were. What is no part of a chain stops no copy
    of it: damaged ones are left out."""
    there = {info.key async for info in target.list(f"{REPORTS}/")}
    copied = 0
    for key in [info.key async for info in source.list(f"{REPORTS}/") if info.key not in there]:
        with suppress(ObjectNotFound, LimitExceeded):  # it may be let go of meanwhile
            raw = await source.read(key, size_max=REPORT_BYTES_MAX)
            if physical_hash(raw) == parse_key(key)[1]:
                await target.put(key, raw)
                copied += 1
    return copied


async def _rename_if_needed(target: DatasetRepository, entry: DatasetEntry) -> None:
    try:
        there = await target.find(entry.id, include_pending=True)
    except DatasetNotFound:
        return
    if there.alias != entry.alias:
        await target.rename(entry.id, entry.alias)
