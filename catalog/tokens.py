"""Access tokens: made, shown once, kept as hashes, checked in constant time, revoked."""

from __future__ import annotations

import hmac
import secrets
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from sqlalchemy import Row, insert, select, update

from catalog.accounts import Account
from catalog.engine import Database
from catalog.tables import accounts, tokens
from catalog.token_text import TokenParts, parse_token, token_text
from opendatafabric.did import AccountId
from opendatafabric.errors import AuthenticationRequired, MalformedInput, NotFound
from opendatafabric.names import AccountName

USE_NOTED_EVERY_S: Final = 60
"""The last use of a token is written down no more often than this, in seconds: reading must stay cheap."""


class Scope(Enum):
    """What a token may be used for; ``WRITE`` includes ``READ``, ``ADMIN`` both."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    @classmethod
    def from_text(cls, text: str) -> Scope:
        """``MalformedInput`` for anything but the three names."""
        try:
            return cls(text)
        except ValueError:
            raise MalformedInput(f"there is no scope {text!r}", expected="read, write or admin") from None


_INCLUDES = {
    Scope.READ: frozenset({Scope.READ}),
    Scope.WRITE: frozenset({Scope.READ, Scope.WRITE}),
    Scope.ADMIN: frozenset(Scope),
}


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A token as it may be listed. Times are seconds since 1970."""

    id: str
    account: AccountName
    scopes: frozenset[Scope]
    created_at: float
    expires_at: float | None
    revoked_at: float | None
    last_used_at: float | None


@dataclass(frozen=True, slots=True)
class Authenticated:
    """Who a valid token speaks for, and what it is good for."""

    account: Account
    scopes: frozenset[Scope]


class TokenExpired(AuthenticationRequired):
    """A token that was good once."""

    code = "token-expired"


class Tokens:
    """The tokens of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def create(
        self,
        account: Account,
        scopes: Collection[Scope] = (Scope.READ, Scope.WRITE),
        *,
        expires_at: float | None = None,
    ) -> str:
        """A new token; the text is not kept and cannot be had again."""
        parts = TokenParts(uuid.uuid4().bytes, secrets.token_bytes(16))
        row = {
            "id": str(uuid.UUID(bytes=parts.id)),
            "account_id": str(account.id),
            "secret_hash": parts.secret_hash,
            "scopes": " ".join(sorted(scope.value for scope in scopes)),
            "created_at": self._now(),
            "expires_at": expires_at,
        }
        async with self._database.writing() as connection:
            await connection.execute(insert(tokens).values(row))
        return token_text(parts)

    async def authenticate(self, text: str) -> Authenticated:
        """Whose token that is.

        Raises:
            TokenExpired: its time is over.
            AuthenticationRequired: malformed, unknown or revoked: which of these is not said.
        """
        parts = parse_token(text)
        async with self._database.reading() as connection:
            row = (
                await connection.execute(
                    select(tokens, accounts.c.name, accounts.c.is_admin, accounts.c.password_hash)
                    .join(accounts, accounts.c.id == tokens.c.account_id)
                    .where(tokens.c.id == str(uuid.UUID(bytes=parts.id)))
                )
            ).first()
        if row is None or not hmac.compare_digest(row.secret_hash, parts.secret_hash) or row.revoked_at is not None:
            raise AuthenticationRequired("Authentication token invalid")
        if row.expires_at is not None and row.expires_at <= self._now():
            raise TokenExpired("Authentication token expired")
        await self._note_use(row)
        account = Account(
            AccountId.from_text(row.account_id),
            AccountName(row.name),
            bool(row.is_admin),
            row.password_hash is not None,
        )
        return Authenticated(account, _granted(row))

    async def _note_use(self, row: Row[Any]) -> None:
        now = self._now()
        if row.last_used_at is not None and now - row.last_used_at < USE_NOTED_EVERY_S:
            return
        async with self._database.writing() as connection:
            await connection.execute(update(tokens).where(tokens.c.id == row.id).values(last_used_at=now))

    async def list(self, account: Account | None = None) -> list[TokenInfo]:
        """All tokens, or those of one account, oldest first."""
        query = select(tokens, accounts.c.name).join(accounts, accounts.c.id == tokens.c.account_id)
        if account is not None:
            query = query.where(tokens.c.account_id == str(account.id))
        async with self._database.reading() as connection:
            return [_info(row) for row in await connection.execute(query.order_by(tokens.c.created_at))]

    async def revoke(self, token_id: str) -> None:
        """End a token by the id that ``list`` shows; ``NotFound`` when there is none, or it has ended."""
        async with self._database.writing() as connection:
            done = await connection.execute(
                update(tokens)
                .where(tokens.c.id == token_id, tokens.c.revoked_at.is_(None))
                .values(revoked_at=self._now())
            )
        if done.rowcount == 0:
            raise NotFound(f"there is no token {token_id} in force", hint="odf token list shows the ids")


def _granted(row: Row[Any]) -> frozenset[Scope]:
    return frozenset().union(*(_INCLUDES[Scope(name)] for name in row.scopes.split()))


def _info(row: Row[Any]) -> TokenInfo:
    return TokenInfo(
        id=row.id,
        account=AccountName(row.name),
        scopes=frozenset(Scope(name) for name in row.scopes.split()),
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        last_used_at=row.last_used_at,
    )
