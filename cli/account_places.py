"""Where accounts and tokens are kept: in the catalog of a repository here, or at a server that is asked for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Final, Protocol, TypeVar, cast
from urllib.parse import quote, urlencode

from catalog.account_changes import AccountChange, change_account
from catalog.account_lifecycle import AccountLifecycle
from catalog.accounts import AccountKind
from catalog.catalog import Catalog
from catalog.scopes import Patterns, Scope
from cli.catalogs import catalog_of
from cli.datasets import is_server
from cli.lifecycles import place_at
from cli.server_api import ServerApi, server_api
from cli.tokens import ends_at
from opendatafabric.errors import UnsupportedOperation
from opendatafabric.names import AccountName
from repo_server.account_states import AccountState, TokenState, plain_account, plain_token

T = TypeVar("T")
_AT_ONCE: Final = 1_000
"""Accounts that a server is asked for in one request."""


@dataclass(frozen=True, slots=True)
class NewAccount:
    """The account that is asked for."""

    name: AccountName
    kind: AccountKind = AccountKind.USER
    is_admin: bool = False
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class NewToken:
    """The token that is asked for; ``lasts_s`` is infinite for one that never ends, ``None`` where nothing was said."""

    account: AccountName
    scopes: frozenset[Scope]
    datasets: Patterns
    lasts_s: float | None


class AccountPlace(Protocol):
    """What commands do with accounts and tokens. Errors are those of the catalog, or of ``ServerApi``."""

    async def accounts(self) -> list[AccountState]: ...

    async def show(self, name: AccountName) -> AccountState: ...

    async def create(self, new: NewAccount) -> AccountState: ...

    async def change(self, name: AccountName, change: AccountChange) -> AccountState: ...

    async def rename(self, name: AccountName, wanted: AccountName) -> AccountState: ...

    async def delete(self, name: AccountName) -> None: ...

    async def create_token(self, new: NewToken) -> str: ...

    async def tokens(self, account: AccountName | None) -> list[TokenState]: ...

    async def revoke_token(self, token_id: str) -> None: ...


@asynccontextmanager
async def account_place(repository: str) -> AsyncIterator[AccountPlace]:
    """The accounts of a repository here, or of the server whose address it is."""
    if is_server(repository):
        async with server_api(repository) as api:
            yield AccountsAtServer(api)
        return
    async with catalog_of(repository) as catalog:
        yield AccountsHere(catalog, repository)


def with_accounts(repository: str, work: Callable[[AccountPlace], Awaitable[T]]) -> T:
    """What a command does with the accounts of a repository."""

    async def opened() -> T:
        async with account_place(repository) as place:
            return await work(place)

    return asyncio.run(opened())


class AccountsHere:
    """In the catalog: whoever may open it may do everything."""

    def __init__(self, catalog: Catalog, repository: str) -> None:
        self._catalog, self._repository = catalog, repository

    async def accounts(self) -> list[AccountState]:
        return [plain_account(account) for account in await self._catalog.accounts.list()]

    async def show(self, name: AccountName) -> AccountState:
        return plain_account(await self._catalog.accounts.find(name))

    async def create(self, new: NewAccount) -> AccountState:
        accounts = self._catalog.accounts
        return plain_account(
            await accounts.create(new.name, password=new.password, is_admin=new.is_admin, kind=new.kind)
        )

    async def change(self, name: AccountName, change: AccountChange) -> AccountState:
        return plain_account(await change_account(self._catalog, name, change))

    async def rename(self, name: AccountName, wanted: AccountName) -> AccountState:
        account = await self._catalog.accounts.find(name)
        async with self._lifecycle() as lifecycle:
            return plain_account(await lifecycle.rename(account, wanted, by=None))

    async def delete(self, name: AccountName) -> None:
        account = await self._catalog.accounts.find(name)
        async with self._lifecycle() as lifecycle:
            await lifecycle.delete(account, by=None)

    @asynccontextmanager
    async def _lifecycle(self) -> AsyncIterator[AccountLifecycle]:
        async with place_at(self._repository) as place:
            default = AccountName(place.settings.default_account)
            yield AccountLifecycle(place.catalog, place.lifecycle, place.settings.terms, default_account=default)

    async def create_token(self, new: NewToken) -> str:
        account = await self._catalog.accounts.find_or_create(new.account)
        return await self._catalog.tokens.create(
            account, new.scopes, datasets=new.datasets, expires_at=ends_at(self._repository, new.lasts_s)
        )

    async def tokens(self, account: AccountName | None) -> list[TokenState]:
        known = None if account is None else await self._catalog.accounts.find(account)
        return [plain_token(info, time.time()) for info in await self._catalog.tokens.list(known)]

    async def revoke_token(self, token_id: str) -> None:
        await self._catalog.tokens.revoke(token_id)


class AccountsAtServer:
    """At a server: administrators do everything; others make, list and revoke tokens of their own."""

    def __init__(self, api: ServerApi) -> None:
        self._api = api

    async def accounts(self) -> list[AccountState]:
        found: list[AccountState] = []
        while True:
            after = found[-1]["accountName"] if found else ""
            page = await self._api.ask("GET", "/accounts?" + urlencode({"after": after, "limit": _AT_ONCE}))
            found += page
            if len(page) < _AT_ONCE:
                return found

    async def show(self, name: AccountName) -> AccountState:
        return cast(AccountState, await self._api.ask("GET", _path(name)))

    async def create(self, new: NewAccount) -> AccountState:
        told = {"accountName": new.name[:], "kind": new.kind.value, "isAdmin": new.is_admin, "password": new.password}
        return cast(AccountState, await self._api.ask("POST", "/accounts", told))

    async def change(self, name: AccountName, change: AccountChange) -> AccountState:
        told = {"isAdmin": change.is_admin, "disabled": change.disabled, "password": change.password}
        given = {field: value for field, value in told.items() if value is not None}
        return cast(AccountState, await self._api.ask("PATCH", _path(name), given))

    async def rename(self, name: AccountName, wanted: AccountName) -> AccountState:
        return cast(AccountState, await self._api.ask("PATCH", _path(name), {"accountName": wanted[:]}))

    async def delete(self, name: AccountName) -> None:
        own = await self._is_own(name)
        await self._api.ask("DELETE", f"{_OWN}?accountName={quote(name[:], safe='')}" if own else _path(name))

    async def create_token(self, new: NewToken) -> str:
        if not await self._is_own(new.account):
            raise UnsupportedOperation(
                f"the server makes tokens for whoever asks, and that is not {new.account}",
                hint="odf token create on the machine of the server, or log in as that account",
            )
        told: dict[str, object] = {
            "scopes": sorted(scope.value for scope in new.scopes),
            "datasets": [str(pattern) for pattern in new.datasets],
        }
        if new.lasts_s == inf:
            raise UnsupportedOperation("a server makes no token that never ends", hint="--expires 90d")
        if new.lasts_s is not None:
            told["expiresInS"] = new.lasts_s
        return str((await self._api.ask("POST", f"{_OWN}/tokens", told))["token"])

    async def tokens(self, account: AccountName | None) -> list[TokenState]:
        own = account is None or await self._is_own(account)
        path = _OWN if own or account is None else _path(account)
        found: list[TokenState] = await self._api.ask("GET", f"{path}/tokens")
        return found

    async def revoke_token(self, token_id: str) -> None:
        await self._api.ask("DELETE", f"{_OWN}/tokens/{quote(token_id, safe='')}")

    async def _is_own(self, name: AccountName) -> bool:
        return bool(name == (await self._api.ask("GET", _OWN))["accountName"])


_OWN: Final = "/accounts/me"


def _path(name: AccountName) -> str:
    return f"/accounts/{quote(name[:], safe='')}"
