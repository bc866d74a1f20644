"""Accounts: who owns datasets and pushes to them; users with passwords, and organisations, which have members."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from sqlalchemy import Row, exists, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.former_account_names import require_free_name
from catalog.passwords import Passwords, is_outdated
from catalog.tables import accounts
from opendatafabric.did import AccountId, new_dataset_id
from opendatafabric.errors import (
    AuthenticationRequired,
    Conflict,
    MalformedIdentifier,
    NameCollision,
    NotFound,
    StorageError,
    UnsupportedOperation,
)
from opendatafabric.names import AccountName

RESERVED_NAMES: Final = frozenset(
    {
        "accounts",
        "activity",
        "api",
        "assets",
        "asyncapi",
        "audit",
        "datasets",
        "docs",
        "errors",
        "events",
        "feed",
        "feeds",
        "graphql",
        "harvest",
        "health",
        "info",
        "ipfs",
        "ipns",
        "jobs",
        "lineage",
        "login",
        "logout",
        "me",
        "metrics",
        "openapi",
        "organizations",
        "pages",
        "platform",
        "query",
        "quotas",
        "routing",
        "rss",
        "search",
        "settings",
        "static",
        "system",
        "teams",
        "tokens",
        "ui-config",
        "v",
        "verify",
        "webhooks",
    }
)
"""First parts of paths that are the node's own: the datasets of such an account could not be reached."""

_RESERVED_ENDINGS: Final = (".html", ".ico", ".json", ".jsonld", ".txt", ".xml")
"""Files that programs ask for at the root of a server."""


def is_reserved(name: AccountName) -> bool:
    """Whether no account may be called so, for paths of the node begin like that."""
    return name.folded in RESERVED_NAMES or name.folded.endswith(_RESERVED_ENDINGS)


class AccountKind(Enum):
    """Who may log in, and who has members instead."""

    USER = "user"
    ORGANIZATION = "organization"


@dataclass(frozen=True, slots=True)
class Account:
    """``id`` is ``did:odf:…``; admins may do everything, disabled accounts nothing."""

    id: AccountId
    name: AccountName
    is_admin: bool = False
    has_password: bool = False
    kind: AccountKind = AccountKind.USER
    disabled: bool = False


class Accounts:
    """The accounts of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now
        self._passwords = Passwords()

    async def create(
        self,
        name: AccountName,
        *,
        password: str | None = None,
        is_admin: bool = False,
        kind: AccountKind = AccountKind.USER,
    ) -> Account:
        """A new account with an id of its own.

        Raises:
            NameCollision: the name is taken, in whatever case, or kept for the account that had it.
            MalformedIdentifier: the name is the beginning of paths of the node.
            MalformedInput: a password that is too short or not ASCII.
            UnsupportedOperation: an organisation that logs in or administers.
        """
        check_name(name)
        _check_kind(name, kind, may_log_in=is_admin or password is not None)
        password_hash = None if password is None else await self._passwords.hashed(password)
        return await self._insert(name, kind, password_hash=password_hash, is_admin=is_admin)

    async def bootstrap(self, name: AccountName) -> Account:
        """A new account, the first administrator.

        One that is there is not promoted: whoever made it may be anybody.

        Raises:
            Conflict: the node has an administrator already.
            NameCollision, MalformedIdentifier: as ``create``.
        """
        check_name(name)
        return await self._insert(name, AccountKind.USER, is_admin=True, is_first=True)

    async def _insert(
        self,
        name: AccountName,
        kind: AccountKind,
        *,
        is_admin: bool,
        password_hash: str | None = None,
        is_first: bool = False,
    ) -> Account:
        row = {
            "id": str(new_dataset_id(secrets.token_bytes(32))),
            "name": str(name),
            "name_folded": name.folded,
            "password_hash": password_hash,
            "is_admin": int(is_admin),
            "created_at": self._now(),
            "kind": kind.value,
        }
        with named_once(name):
            async with self._database.writing() as connection:
                if is_first and (await connection.execute(select(_SOMEBODY_ADMINISTERS))).scalar():
                    raise Conflict("the node has an administrator", hint="who makes others: odf account make-admin")
                await require_free_name(connection, name, self._now())
                made = await connection.execute(insert(accounts).values(row).returning(accounts))
                return account_of(made.one())

    async def find(self, name: AccountName) -> Account:
        """The account of that name; ``NotFound`` when there is none."""
        return await self._one(accounts.c.name_folded == name.folded, f"account {name}")

    async def find_by_id(self, account_id: AccountId) -> Account:
        """The account of that id; ``NotFound`` when there is none."""
        return await self._one(accounts.c.id == str(account_id), f"account {account_id}")

    async def find_enabled(self, account_id: AccountId) -> Account:
        """The account of that id; ``NotFound`` when there is none, or it is disabled."""
        account = await self.find_by_id(account_id)
        if account.disabled:
            raise NotFound(f"account {account_id} is disabled", hint="odf account enable NAME")
        return account

    async def find_or_create(self, name: AccountName) -> Account:
        """The account of that name, made when there is none."""
        try:
            return await self.find(name)
        except NotFound:
            return await self.create(name)

    async def list(self, *, after: str = "", limit: int | None = None) -> list[Account]:
        """The accounts by name: all, or so many of those ``after`` a name."""
        wanted = select(accounts).where(accounts.c.name_folded > after.lower()).order_by(accounts.c.name_folded)
        async with self._database.reading() as connection:
            return [account_of(row) for row in await connection.execute(wanted.limit(limit))]

    async def set_password(self, name: AccountName, password: str) -> Account:
        """Give a user a password; errors as ``create`` and ``find``."""
        account = await self.find(name)
        _check_kind(name, account.kind, may_log_in=True)
        return await self._change(account, password_hash=await self._passwords.hashed(password))

    async def disable(self, name: AccountName) -> Account:
        """Let an account do nothing any more: its tokens and its password end at once, for every process.

        Raises:
            NotFound: there is none.
            Conflict: nobody would administer the node then.
        """
        return await self._change(await self.find(name), disabled_at=self._now())

    async def enable(self, name: AccountName) -> Account:
        """Let it do again what it could; ``NotFound`` when there is none."""
        return await self._change(await self.find(name), disabled_at=None)

    async def set_admin(self, name: AccountName, *, is_admin: bool) -> Account:
        """Make a user an administrator of the node, or no longer one.

        Raises:
            NotFound: there is none.
            UnsupportedOperation: it is an organisation.
            Conflict: nobody would administer the node then.
        """
        account = await self.find(name)
        _check_kind(name, account.kind, may_log_in=is_admin)
        return await self._change(account, is_admin=int(is_admin))

    async def check_password(self, name: AccountName, password: str) -> Account:
        """The account, if the password is its own.

        Raises:
            AuthenticationRequired: unknown or disabled account, no password or another one: the same answer in the
                same time.
            TransientStorageError: too many are being checked.
        """
        async with self._database.reading() as connection:
            row = (await connection.execute(select(accounts).where(accounts.c.name_folded == name.folded))).first()
        kept = None if row is None else row.password_hash
        if not await self._passwords.matches(password, kept) or row is None or row.disabled_at is not None:
            raise AuthenticationRequired("Invalid credentials")
        account = account_of(row)
        if kept is not None and is_outdated(kept):
            await self._change(account, password_hash=await self._passwords.hashed(password))
        return account

    async def _change(self, account: Account, **values: Any) -> Account:
        changed = update(accounts).where(accounts.c.id == str(account.id)).values(values).returning(accounts)
        async with self._database.writing() as connection:
            row = (await connection.execute(changed)).one()
            await require_administrator(connection, account)
        return account_of(row)

    async def _one(self, condition: Any, what: str) -> Account:
        async with self._database.reading() as connection:
            row = (await connection.execute(select(accounts).where(condition))).first()
        if row is None:
            raise NotFound(f"{what} does not exist", hint="odf account create NAME")
        return account_of(row)


def account_of(row: Row[Any], *, account_id: str | None = None) -> Account:
    """The account in a row of its table, or in one that has its id elsewhere."""
    return Account(
        AccountId.from_text(account_id or row.id),
        AccountName(row.name),
        bool(row.is_admin),
        row.password_hash is not None,
        AccountKind(row.kind),
        row.disabled_at is not None,
    )


@contextmanager
def named_once(name: AccountName) -> Iterator[None]:
    """Let the database say that an account has the name: ``NameCollision``."""
    try:
        yield
    except StorageError as error:
        if not isinstance(error.__cause__, IntegrityError):
            raise
        raise NameCollision(f"account {name} exists already", found=name) from None


async def require_administrator(connection: AsyncConnection, without: Account) -> None:
    """Return if somebody administers the node after a change to that account; ``Conflict`` when it did so alone."""
    administered = (await connection.execute(select(_SOMEBODY_ADMINISTERS))).scalar()
    if without.is_admin and not without.disabled and not administered:
        raise Conflict(f"nobody would administer the node without {without.name}")


def check_name(name: AccountName) -> None:
    """``MalformedIdentifier`` for a name that no account may have."""
    if is_reserved(name):
        raise MalformedIdentifier(f"no account can be called {name}", hint="paths of the node begin like that")


def _check_kind(name: AccountName, kind: AccountKind, *, may_log_in: bool) -> None:
    if kind is AccountKind.ORGANIZATION and may_log_in:
        raise UnsupportedOperation(f"{name} is an organisation: its members log in and administer, it does not")


_SOMEBODY_ADMINISTERS: Final = exists().where(accounts.c.is_admin == 1, accounts.c.disabled_at.is_(None))
