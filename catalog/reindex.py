"""Rebuild the index from what lies in the repository: the folders decide which datasets there are and their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from catalog.accounts import Account, Accounts
from catalog.datasets import DatasetRecord, Datasets
from catalog.visibility import Visibility
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import DatasetNotFound, MalformedIdentifier, NameCollision
from opendatafabric.names import AccountName
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry

_AT_ONCE: Final = 500
"""Datasets that are written in one transaction."""


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
    before = await datasets.aliases()
    owners = _Owners(accounts, default_owner)
    found: set[DatasetId] = set()
    news: list[DatasetRecord] = []
    async for entry in repository.iterate():
        found.add(entry.id)
        if before.get(entry.id) != entry.alias:
            news.append(DatasetRecord(entry.id, entry.alias, await owners.of(entry), default_visibility))
        if len(news) == _AT_ONCE:
            await datasets.put_all(news)
            news.clear()
    await datasets.put_all(news)
    kept = {each.id for each in await repository.retired()}
    gone = [each for each in before.keys() - found - kept if not await _is_there(repository, each)]
    for each in gone:
        await datasets.forget(each)
    return Reindexed(len(found), len(found - before.keys()), len(gone))


async def _is_there(repository: DatasetRepository, dataset_id: DatasetId) -> bool:
    try:
        await repository.find(dataset_id, include_pending=True)
    except DatasetNotFound:
        return False
    return True


class _Owners:
    """Whose datasets are by their names; each account is asked for once."""

    def __init__(self, accounts: Accounts, default_owner: Account) -> None:
        self._accounts, self._default = accounts, default_owner
        self._known: dict[AccountName, AccountId] = {}

    async def of(self, entry: DatasetEntry) -> AccountId:
        name = entry.alias.account
        if name is None:
            return self._default.id
        if name not in self._known:
            self._known[name] = await self._find(name)
        return self._known[name]

    async def _find(self, name: AccountName) -> AccountId:
        try:
            return (await self._accounts.find_or_create(name)).id
        except (MalformedIdentifier, NameCollision):  # of the node, or of an account that is called otherwise now
            return self._default.id
