"""Rebuild the index from what lies in the repository: the folders decide which datasets there are and their names."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.accounts import Account, Accounts
from catalog.datasets import DatasetRecord, Datasets
from catalog.visibility import Visibility
from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedIdentifier
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
    """Know every dataset of the repository, and no others. Owner and visibility of known ones stay.

    A dataset that is new belongs to the account in its name, where there is one, else to ``default_owner``.
    """
    ids: list[DatasetId] = []
    added = 0
    async for entry in repository.iterate():
        added += await datasets.find(entry.id) is None
        owner = await _owner_of(entry, accounts, default_owner)
        await datasets.put(DatasetRecord(entry.id, entry.alias, owner.id, default_visibility))
        ids.append(entry.id)
    return Reindexed(len(ids), added, await datasets.keep_only(ids))


async def _owner_of(entry: DatasetEntry, accounts: Accounts, default_owner: Account) -> Account:
    if entry.alias.account is None:
        return default_owner
    try:
        return await accounts.find_or_create(entry.alias.account)
    except MalformedIdentifier:
        return default_owner
