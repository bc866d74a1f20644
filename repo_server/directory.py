"""Which dataset a path names, and what is known of it; remembered for a moment, since every request asks."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

from catalog.accounts import Account
from catalog.datasets import DatasetRecord, Datasets
from catalog.roles import Role, Roles
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias, DatasetRef
from opendatafabric.did import AccountId, DatasetId, new_dataset_id
from opendatafabric.errors import DatasetNotFound
from opendatafabric.names import AccountName, DatasetName
from repo_server.measuring import measured
from repo_server.remembered import Remembered
from repo_server.upstream import Upstream, UpstreamDataset
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry
from storage.wrappers.measured import StoreMetrics


@dataclass(frozen=True, slots=True)
class Hosted:
    """A dataset that lies here, or ``upstream``; ``entry.pending`` while its first push is under way. ``record.alias``
    names its account, whether or not ``entry.alias`` does."""

    entry: DatasetEntry
    record: DatasetRecord
    upstream: UpstreamDataset | None = None


class Directory:
    """Aliases and ids → datasets. Datasets that the catalog does not know belong to ``default_owner``."""

    def __init__(
        self,
        repository: DatasetRepository,
        datasets: Datasets,
        roles: Roles,
        version: Callable[[], Hashable | None],
        *,
        default_owner: Account,
        default_visibility: Visibility,
        metrics: StoreMetrics | None = None,
        upstream: Upstream | None = None,
    ) -> None:
        self._metrics = metrics
        self._upstream = upstream
        self._repository = repository
        self._datasets = datasets
        self._roles_given = roles
        self._default_owner = default_owner
        self._default_visibility = default_visibility
        self._known: Remembered[DatasetRef, Hosted | None] = Remembered(version)
        self._roles: Remembered[tuple[DatasetId, AccountId], Role | None] = Remembered(version)

    async def find(self, ref: DatasetRef) -> Hosted | None:
        """The dataset, pending ones included; ``None`` when there is none."""
        return await self._known.ask(
            ref, lambda: self._look_up(ref), keep=lambda hosted: hosted is not None and not hosted.entry.pending
        )

    async def look_for_nothing(self, beside: DatasetRef) -> None:
        """Look for what is not there, next to ``beside``: so that what is hidden takes as long as what is absent."""
        if isinstance(beside, DatasetAlias):
            absent: DatasetRef = DatasetAlias(beside.account, DatasetName(f"x{secrets.token_hex(16)}"))
        else:
            absent = new_dataset_id(secrets.token_bytes(32))
        await self.find(absent)

    async def role(self, hosted: Hosted, account: Account) -> Role | None:
        """The role of an account that does not own the dataset."""
        owner_id = hosted.record.owner_id
        key = (hosted.entry.id, account.id)
        return await self._roles.ask(key, lambda: self._roles_given.of(account.id, hosted.entry.id, owner_id))

    def forget(self, ref: DatasetAlias) -> None:
        """Look again next time."""
        self._known.forget(ref)

    @property
    def default_account(self) -> AccountName:
        """Whose datasets are that say no account."""
        return self._default_owner.name

    def with_account(self, alias: DatasetAlias) -> DatasetAlias:
        """The alias with its account: datasets that say none are the default owner's."""
        return alias if alias.account is not None else DatasetAlias(self._default_owner.name, alias.name)

    async def settle(self) -> None:
        """Wait for what is being looked up, so that the catalog may be closed."""
        await self._known.settle()
        await self._roles.settle()

    async def _look_up(self, ref: DatasetRef) -> Hosted | None:
        entry = await self._entry(ref)
        if entry is None:
            return await self._look_upstream(ref)
        record = await self._datasets.find(entry.id) or self._unknown(entry)
        if self._metrics is not None:
            entry = measured(entry, self._metrics)
        return Hosted(entry, replace(record, alias=self.with_account(record.alias)))

    async def _look_upstream(self, ref: DatasetRef) -> Hosted | None:
        if self._upstream is None or not isinstance(ref, DatasetAlias):
            return None
        found = await self._upstream.find(ref)
        if found is None:
            return None
        entry, record, upstream = found
        return Hosted(entry, replace(record, alias=self.with_account(record.alias)), upstream)

    async def _entry(self, ref: DatasetRef) -> DatasetEntry | None:
        for spelling in self._spellings(ref):
            try:
                return await self._repository.find(spelling, include_pending=True)
            except DatasetNotFound:
                continue
        return None

    def _spellings(self, ref: DatasetRef) -> tuple[DatasetRef, ...]:
        """Datasets without an account are the default owner's, and the other way round: so the same folder can be
        served in either tenancy."""
        if isinstance(ref, DatasetAlias) and ref.account is None:
            return ref, DatasetAlias(self._default_owner.name, ref.name)
        if isinstance(ref, DatasetAlias) and ref.account == self._default_owner.name:
            return ref, DatasetAlias(None, ref.name)
        return (ref,)

    def _unknown(self, entry: DatasetEntry) -> DatasetRecord:
        return DatasetRecord(entry.id, entry.alias, self._default_owner.id, self._default_visibility)
