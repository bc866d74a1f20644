"""Who may do what with a dataset: one function, asked by every handler."""

from __future__ import annotations

from enum import IntEnum

from catalog.accounts import Account
from catalog.datasets import DatasetRecord, Role
from catalog.tokens import Authenticated, Scope
from catalog.visibility import Visibility


class Access(IntEnum):
    """What a caller may do; each includes those before. With ``NONE`` the dataset is not even admitted to exist."""

    NONE = 0
    READ = 1
    WRITE = 2


def access_to(record: DatasetRecord, caller: Authenticated | None, role: Role | None) -> Access:
    """What ``caller`` (``None``: anonymous) may do with the dataset, given its role in it."""
    granted = _by_account(record, None if caller is None else caller.account, role)
    if caller is None or Scope.WRITE in caller.scopes:
        return granted
    return min(granted, Access.READ if Scope.READ in caller.scopes else Access.NONE)


def _by_account(record: DatasetRecord, account: Account | None, role: Role | None) -> Access:
    if account is not None and (account.is_admin or account.id == record.owner_id):
        return Access.WRITE
    if account is not None and role is not None:
        return Access.READ if role is Role.READER else Access.WRITE
    return Access.READ if record.visibility is Visibility.PUBLIC else Access.NONE
