"""Rebuild the index from what lies in the repository: the folders decide which datasets there are and their names."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.accounts import Account, Accounts
from catalog.datasets import DatasetRecord, Datasets
from catalog.visibility import Visibility
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, MalformedIdentifier, NameCollision
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What a run found: datasets there are, those that were not known, those that are gone."""

    found: int
    added: int
    removed: int


async def reindex(
    repository: DatasetRepository,
    accounts: Accounts,
    datasets: Datasets,
    *,
    default_owner: Account,
    default_visibility: Visibility,
) -> Reindexed:
    """Know every dataset of the repository, those that are kept out of sight, and no others.

    Owner and visibility of known ones stay. It may run while others push: what they begin meanwhile stays known. A
    dataset that is new belongs to the account in its name, where there is one, else to ``default_owner``.
    """
    before = await datasets.ids()
    found: set[DatasetId] = set()
    added = 0
    async for entry in repository.iterate():
        known = await datasets.find(entry.id)
        added += known is None
        if known is None or known.alias != entry.alias:
            owner = await _owner_of(entry, accounts, default_owner)
            await datasets.put(DatasetRecord(entry.id, entry.alias, owner.id, default_visibility))
        found.add(entry.id)
    kept = {each.id for each in await repository.retired()}
    gone = [each for each in before - found - kept if not await _is_there(repository, each)]
    for each in gone:
        await datasets.forget(each)
    return Reindexed(len(found), added, len(gone))


async def _is_there(repository: DatasetRepository, dataset_id: DatasetId) -> bool:
    try:
        await repository.find(dataset_id, include_pending=True)
    except DatasetNotFound:
        return False
    return True


async def _owner_of(entry: DatasetEntry, accounts: Accounts, default_owner: Account) -> Account:
    if entry.alias.account is None:
        return default_owner
    try:
        return await accounts.find_or_create(entry.alias.account)
    except (MalformedIdentifier, NameCollision):  # of the node, or of an account that is called otherwise now
        return default_owner
