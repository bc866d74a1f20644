"""Copy a whole repository: a backup is itself a repository, so it can be listed, checked, served and restored from.

Only what is new is copied, and all of it is proved by its hash on the way. A chain that was replaced by force at the
source is replaced in the copy too, whatever policy it has; what the copy alone has stays there. Verification reports,
signatures of heads and the policy of a dataset are copied with it: what is restored moves by the same rules.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import (
    DatasetNotFound,
    LimitExceeded,
    ObjectNotFound,
    PolicyViolation,
)
from opendatafabric.layout import REPORTS, parse_key
from opendatafabric.multihash import physical_hash
from opendatafabric.report_limits import REPORT_BYTES_MAX
from storage.head_policy import HeadPolicy, read_policy, write_policy
from storage.head_signatures import add_signature, read_signatures
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
        StorageError: the policy or the signatures of a dataset are damaged.
    """
    async for entry in source.iterate():
        await _rename_if_needed(target, entry)
        result = await _copy_chain(entry, target)
        objects = (await target.find(entry.id)).dataset.writable_objects()
        await copy_reports(entry.dataset.objects, objects)
        await _copy_rules(entry.dataset.objects, objects)
        yield CopiedDataset(entry.alias, result)


async def _copy_chain(entry: DatasetEntry, target: DatasetRepository) -> TransferResult:
    place, options = RepositoryTarget(target, entry.alias), TransferOptions(force=True)
    try:
        return await copy_held_chain(entry.dataset, place, options=options)
    except PolicyViolation:  # rules are for those who move heads, not for copies of what was moved
        await write_policy((await target.find(entry.id)).dataset.writable_objects(), HeadPolicy())
        return await copy_held_chain(entry.dataset, place, options=options)


async def _copy_rules(source: ObjectReader, target: ObjectStore) -> None:
    for signature in await read_signatures(source):
        await add_signature(target, signature)
    policy = await read_policy(source)
    if policy != await read_policy(target):
        await write_policy(target, policy)


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
