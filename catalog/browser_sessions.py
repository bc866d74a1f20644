"""Browsers that somebody is logged in with. A session is known by a random id, of which the hash alone is kept."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable

from sqlalchemy import delete, insert, select

from catalog.accounts import Account, Accounts
from catalog.engine import Database
from catalog.login_tables import browser_sessions
from opendatafabric.did import AccountId
from opendatafabric.errors import NotFound

_ID_BYTES = 32


def new_session_id() -> str:
    """An id that nobody guesses."""
    return secrets.token_urlsafe(_ID_BYTES)


class BrowserSessions:
    """Those of one catalog."""

    def __init__(self, database: Database, accounts: Accounts, now: Callable[[], float]) -> None:
        self._database, self._accounts, self._now = database, accounts, now

    async def begin(self, account: Account, *, lasts_s: float) -> str:
        """A new session of ``account``: its id, which is not kept. Those that have expired are forgotten."""
        session_id, now = new_session_id(), self._now()
        row = {
            "id_hash": _hash_of(session_id),
            "account_id": str(account.id),
            "began_at": now,
            "expires_at": now + lasts_s,
        }
        async with self._database.writing() as connection:
            await connection.execute(delete(browser_sessions).where(browser_sessions.c.expires_at <= now))
            await connection.execute(insert(browser_sessions).values(row))
        return session_id

    async def account_of(self, session_id: str) -> Account | None:
        """Who is logged in by that id; ``None`` when nobody is, or no longer."""
        query = select(browser_sessions.c.account_id).where(
            browser_sessions.c.id_hash == _hash_of(session_id), browser_sessions.c.expires_at > self._now()
        )
        async with self._database.reading() as connection:
            found = (await connection.execute(query)).scalar()
        try:
            return None if found is None else await self._accounts.find_enabled(AccountId.from_text(found))
        except NotFound:
            return None

    async def end(self, session_id: str) -> None:
        """Log that browser out."""
        await self._remove(browser_sessions.c.id_hash == _hash_of(session_id))

    async def end_all(self, account: Account) -> None:
        """Log the account out everywhere, as after a change of its password."""
        await self._remove(browser_sessions.c.account_id == str(account.id))

    async def _remove(self, condition: object) -> None:
        async with self._database.writing() as connection:
            await connection.execute(delete(browser_sessions).where(condition))  # type: ignore[arg-type]


def _hash_of(session_id: str) -> bytes:
    return hashlib.sha256(session_id.encode(errors="replace")).digest()
