"""Accounts and tokens as plain values: for the API and for the command line."""

from __future__ import annotations

from typing_extensions import TypedDict

from catalog.accounts import Account
from catalog.tokens import TokenInfo
from repo_server.moments import moment, moment_or_none


class AccountState(TypedDict):
    """An account as those see it who administer; ``kind`` is ``user`` or ``organization``."""

    id: str
    accountName: str
    kind: str
    isAdmin: bool
    hasPassword: bool
    disabled: bool


class TokenState(TypedDict):
    """A token without its secret; ``state`` is ``valid``, ``revoked`` or ``expired``."""

    id: str
    account: str
    scopes: list[str]
    datasets: list[str]
    createdAt: str
    expiresAt: str | None
    lastUsedAt: str | None
    state: str


def plain_account(account: Account) -> AccountState:
    """An account as plain values."""
    return {
        "id": str(account.id),
        "accountName": account.name[:],
        "kind": account.kind.value,
        "isAdmin": account.is_admin,
        "hasPassword": account.has_password,
        "disabled": account.disabled,
    }


def plain_token(info: TokenInfo, now: float) -> TokenState:
    """A token as plain values."""
    return {
        "id": info.id,
        "account": info.account[:],
        "scopes": sorted(scope.value for scope in info.scopes),
        "datasets": [str(pattern) for pattern in info.datasets],
        "createdAt": moment(info.created_at),
        "expiresAt": moment_or_none(info.expires_at),
        "lastUsedAt": moment_or_none(info.last_used_at),
        "state": _state(info, now),
    }


def _state(info: TokenInfo, now: float) -> str:
    if info.revoked_at is not None:
        return "revoked"
    return "expired" if info.expires_at is not None and info.expires_at <= now else "valid"
