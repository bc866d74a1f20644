"""Accounts: who owns datasets and pushes to them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from catalog.engine import Database
from catalog.tables import accounts
from opendatafabric.did import AccountId, new_dataset_id
from opendatafabric.errors import AuthenticationRequired, MalformedInput, NameCollision, NotFound, StorageError
from opendatafabric.names import AccountName

PASSWORD_CHARS_MIN: Final = 8
_SCRYPT: Final = {"n": 2**14, "r": 8, "p": 1, "maxmem": 64 * 1024 * 1024}


@dataclass(frozen=True, slots=True)
class Account:
    """``id`` is ``did:odf:…``; admins may do everything."""

    id: AccountId
    name: AccountName
    is_admin: bool = False
    has_password: bool = False


class Accounts:
    """The accounts of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def create(self, name: AccountName, *, password: str | None = None, is_admin: bool = False) -> Account:
        """A new account with an id of its own.

        Raises:
            NameCollision: the name is taken, in whatever case.
            MalformedInput: a password that is too short or not ASCII.
        """
        account_id = AccountId.from_text(str(new_dataset_id(secrets.token_bytes(32))))
        row = {
            "id": str(account_id),
            "name": str(name),
            "name_folded": name.folded,
            "password_hash": None if password is None else await asyncio.to_thread(_hashed, password),
            "is_admin": int(is_admin),
            "created_at": self._now(),
        }
        try:
            async with self._database.writing() as connection:
                await connection.execute(insert(accounts).values(row))
        except StorageError as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            raise NameCollision(f"account {name} exists already", found=name) from None
        return Account(account_id, name, is_admin, password is not None)

    async def find(self, name: AccountName) -> Account:
        """The account of that name; ``NotFound`` when there is none."""
        return await self._one(accounts.c.name_folded == name.folded, f"account {name}")

    async def find_by_id(self, account_id: AccountId) -> Account:
        """The account of that id; ``NotFound`` when there is none."""
        return await self._one(accounts.c.id == str(account_id), f"account {account_id}")

    async def find_or_create(self, name: AccountName) -> Account:
        """The account of that name, made when there is none."""
        try:
            return await self.find(name)
        except NotFound:
            return await self.create(name)

    async def list(self) -> list[Account]:
        """All accounts by name."""
        async with self._database.reading() as connection:
            rows = await connection.execute(select(accounts).order_by(accounts.c.name_folded))
            return [_account(row) for row in rows]

    async def set_password(self, name: AccountName, password: str) -> None:
        """Give an account a password; errors as ``create`` and ``find``."""
        account = await self.find(name)
        password_hash = await asyncio.to_thread(_hashed, password)
        async with self._database.writing() as connection:
            await connection.execute(
                update(accounts).where(accounts.c.id == str(account.id)).values(password_hash=password_hash)
            )

    async def check_password(self, name: AccountName, password: str) -> Account:
        """The account, if the password is its own.

        Raises:
            AuthenticationRequired: unknown account, no password or another one: the same answer in the same time.
        """
        async with self._database.reading() as connection:
            row = (await connection.execute(select(accounts).where(accounts.c.name_folded == name.folded))).first()
        stored = None if row is None else row.password_hash
        if not await asyncio.to_thread(_matches, password, stored or _UNUSABLE) or row is None or stored is None:
            raise AuthenticationRequired("Invalid credentials")
        return _account(row)

    async def _one(self, condition: Any, what: str) -> Account:
        async with self._database.reading() as connection:
            row = (await connection.execute(select(accounts).where(condition))).first()
        if row is None:
            raise NotFound(f"{what} does not exist", hint="odf account create NAME")
        return _account(row)


def _account(row: Row[Any]) -> Account:
    return Account(
        AccountId.from_text(row.id), AccountName(row.name), bool(row.is_admin), row.password_hash is not None
    )


def _hashed(password: str) -> str:
    if len(password) < PASSWORD_CHARS_MIN or not password.isascii():
        raise MalformedInput(f"a password has at least {PASSWORD_CHARS_MIN} characters, all ASCII")
    salt = secrets.token_bytes(16)
    return f"scrypt${base64.b64encode(salt).decode()}${base64.b64encode(_digest(password, salt)).decode()}"


def _matches(password: str, stored: str) -> bool:
    _, salt, digest = stored.split("$")
    return hmac.compare_digest(_digest(password, base64.b64decode(salt)), base64.b64decode(digest))


def _digest(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, **_SCRYPT)


_UNUSABLE: Final = "scrypt$AAAAAAAAAAAAAAAAAAAAAA==$AAAA"
"""Compared with when there is nothing to compare with, so that this takes as long."""
