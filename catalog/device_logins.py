"""Logins of programs that a person lets happen in a browser (RFC 8628): who asks, who said yes, and that only once.

The code that names a login is shown once, to the program that asked. It ends with the first token, with a refusal or
after a few minutes, whichever comes first; the catalog keeps its hash.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from sqlalchemy import Row, delete, func, insert, select, update

from catalog.accounts import Account, Accounts
from catalog.engine import Database
from catalog.login_tables import device_logins
from opendatafabric.did import AccountId
from opendatafabric.errors import Conflict, NotFound, TransientStorageError
from opendatafabric.login_limits import DEVICE_LOGIN_S, DEVICE_LOGINS_MAX, DEVICE_POLL_S, DEVICE_TOLD_S

_TEXT_CHARS_MAX: Final = 200


class DeviceState(Enum):
    """How far a login is."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    ENDED = "ended"
    """Its token was taken."""


class Refusal(Enum):
    """Why a program that asks for its token gets none, in the words of RFC 8628."""

    PENDING = "authorization_pending"
    TOO_SOON = "slow_down"
    DENIED = "access_denied"
    EXPIRED = "expired_token"


@dataclass(frozen=True, slots=True)
class DeviceLogin:
    """What a person is shown. ``address`` is where the program asked from; times are seconds since 1970."""

    client_id: str
    address: str
    began_at: float
    expires_at: float


class DeviceLogins:
    """Those of one catalog."""

    def __init__(self, database: Database, accounts: Accounts, now: Callable[[], float]) -> None:
        self._database, self._accounts, self._now = database, accounts, now

    async def begin(self, client_id: str, address: str) -> str:
        """A new login: its code.

        Raises:
            TransientStorageError: as many wait as may.
        """
        code, now = str(uuid.uuid4()), self._now()
        row = {
            "code_hash": _hash_of(code),
            "client_id": client_id[:_TEXT_CHARS_MAX],
            "address": address[:_TEXT_CHARS_MAX],
            "began_at": now,
            "expires_at": now + DEVICE_LOGIN_S,
            "state": DeviceState.PENDING.value,
        }
        async with self._database.writing() as connection:
            forgotten = device_logins.c.expires_at <= now - DEVICE_TOLD_S
            await connection.execute(delete(device_logins).where(forgotten))
            waiting = (await connection.execute(select(func.count()).select_from(device_logins))).scalar_one()
            if waiting >= DEVICE_LOGINS_MAX:
                raise TransientStorageError("too many programs wait for a login", hint="try again in some minutes")
            await connection.execute(insert(device_logins).values(row))
        return code

    async def look(self, code: str) -> DeviceLogin:
        """What waits for a decision; ``NotFound`` for anything else: unknown, decided or expired."""
        row = await self._row(code)
        if row is None or row.state != DeviceState.PENDING.value or row.expires_at <= self._now():
            raise NotFound("this login has ended, or never was", hint="begin it again: odf login URL")
        return DeviceLogin(row.client_id, row.address, row.began_at, row.expires_at)

    async def approve(self, code: str, account: Account) -> None:
        """Let the program act for ``account``; ``Conflict`` when there is nothing left to decide."""
        await self._decide(code, state=DeviceState.APPROVED.value, account_id=str(account.id))

    async def deny(self, code: str) -> None:
        """Give it nothing; ``Conflict`` when there is nothing left to decide."""
        await self._decide(code, state=DeviceState.DENIED.value)

    async def take(self, code: str, client_id: str) -> Account | Refusal:
        """Who said yes, told once and only to the program that asked; else why there is no token."""
        row, now = await self._row(code), self._now()
        if row is None or row.client_id != client_id[:_TEXT_CHARS_MAX] or row.state in _OVER:
            return Refusal.DENIED
        if row.expires_at <= now:
            return Refusal.EXPIRED
        if row.state == DeviceState.PENDING.value:
            return await self._polled(row, now)
        ended = await self._change(code, DeviceState.APPROVED, state=DeviceState.ENDED.value)
        return await self._account(row) if ended else Refusal.DENIED

    async def _polled(self, row: Row[Any], now: float) -> Refusal:
        # Clients measure the interval at their end: half of it is soon enough to be called impatient.
        if row.polled_at is not None and now - row.polled_at < DEVICE_POLL_S / 2:
            return Refusal.TOO_SOON
        noted = update(device_logins).where(device_logins.c.code_hash == row.code_hash).values(polled_at=now)
        async with self._database.writing() as connection:
            await connection.execute(noted)
        return Refusal.PENDING

    async def _account(self, row: Row[Any]) -> Account | Refusal:
        try:
            return await self._accounts.find_enabled(AccountId.from_text(row.account_id))
        except NotFound:
            return Refusal.DENIED

    async def _decide(self, code: str, **values: str) -> None:
        if not await self._change(code, DeviceState.PENDING, **values):
            raise Conflict("this login has ended, or never was", hint="begin it again: odf login URL")

    async def _change(self, code: str, before: DeviceState, **values: str) -> bool:
        changed = (
            update(device_logins)
            .where(
                device_logins.c.code_hash == _hash_of(code),
                device_logins.c.state == before.value,
                device_logins.c.expires_at > self._now(),
            )
            .values(values)
        )
        async with self._database.writing() as connection:
            return (await connection.execute(changed)).rowcount == 1

    async def _row(self, code: str) -> Row[Any] | None:
        query = select(device_logins).where(device_logins.c.code_hash == _hash_of(code))
        async with self._database.reading() as connection:
            return (await connection.execute(query)).first()


_OVER: Final = frozenset({DeviceState.DENIED.value, DeviceState.ENDED.value})


def _hash_of(code: str) -> bytes:
    return hashlib.sha256(code.encode(errors="replace")).digest()
