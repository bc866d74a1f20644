"""Who may do what with a dataset: one function, asked by every handler, and one for what goes on without a caller."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from catalog.accounts import Account, Accounts
from catalog.datasets import DatasetRecord, Datasets
from catalog.roles import Role, Roles
from catalog.scopes import Scope
from catalog.tokens import Authenticated
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import NotFound
from opendatafabric.names import AccountName


class Access(IntEnum):
    """What a caller may do; each includes those before. With ``NONE`` the dataset is not even admitted to exist."""

    NONE = 0
    READ = 1
    WRITE = 2
    """Push, ingest, have it verified."""
    MAINTAIN = 3
    """Schedules, gates, alerts."""
    OWN = 4
    """Visibility and roles; whether and where it exists."""


_GIVES: Final = {
    Role.READER: Access.READ,
    Role.WRITER: Access.WRITE,
    Role.MAINTAINER: Access.MAINTAIN,
    Role.OWNER: Access.OWN,
}


def access_of_role(role: Role) -> Access:
    """What a role gives."""
    return _GIVES[role]


def access_to(record: DatasetRecord, caller: Authenticated | None, role: Role | None, *, named: bool = False) -> Access:
    """What ``caller`` (``None``: anonymous) may do with the dataset, given its role in it. ``named`` when it gave the
    name: whoever comes by an id, a hash, a list or a search does not reach what is unlisted."""
    granted = _by_account(record, None if caller is None else caller.account, role, named=named)
    return granted if caller is None else min(granted, _by_token(record, caller))


def reaches(caller: Authenticated, alias: DatasetAlias) -> bool:
    """Whether the token is good for anything at the dataset ``alias``, which names its account."""
    return any(caller.allows(scope, alias) for scope, _ in _MOST)


def _by_token(record: DatasetRecord, caller: Authenticated) -> Access:
    """The most that the token is good for, whoever's it is. ``record.alias`` names its account."""
    return next((access for scope, access in _MOST if caller.allows(scope, record.alias)), Access.NONE)


_MOST: Final = (
    (Scope.DATASETS_MANAGE, max(Access)),
    (Scope.DATASETS_PUSH, Access.WRITE),
    (Scope.DATASETS_READ, Access.READ),
)


def _by_account(record: DatasetRecord, account: Account | None, role: Role | None, *, named: bool = False) -> Access:
    if account is not None and (account.is_admin or account.id == record.owner_id):
        return Access.OWN
    if account is not None and role is not None:
        return _GIVES[role]
    open_to_all = record.visibility is Visibility.PUBLIC or (named and record.visibility is Visibility.UNLISTED)
    return Access.READ if open_to_all else Access.NONE


@dataclass(frozen=True, slots=True)
class Rights:
    """What accounts may read while nobody calls. Datasets that the catalog does not know are ``default_owner``'s."""

    accounts: Accounts
    datasets: Datasets
    roles: Roles
    default_owner: AccountName
    default_visibility: Visibility

    async def may_read(self, account_id: AccountId | None, dataset_id: DatasetId) -> bool:
        """Whether the account (``None`` or one that is no more: anybody) may read the dataset."""
        account = await self._account(account_id)
        record = await self.datasets.find(dataset_id)
        if record is None:
            is_owner = account is not None and account.name == self.default_owner
            return is_owner or self.default_visibility is Visibility.PUBLIC
        role = None if account is None else await self.roles.of(account.id, dataset_id, record.owner_id)
        return _by_account(record, account, role) >= Access.READ

    async def stranger_who_owns(self, dataset_id: DatasetId) -> AccountId | None:
        """The owner of the dataset, unless that is an administrator or the default owner."""
        record = await self.datasets.find(dataset_id)
        account = None if record is None else await self._account(record.owner_id)
        if record is None or (account is not None and (account.is_admin or account.name == self.default_owner)):
            return None
        return record.owner_id

    async def _account(self, account_id: AccountId | None) -> Account | None:
        try:
            return None if account_id is None else await self.accounts.find_enabled(account_id)
        except NotFound:
            return None
