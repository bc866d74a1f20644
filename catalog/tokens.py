"""Access tokens: made, shown once, kept as hashes, checked in constant time, revoked."""

from __future__ import annotations

import hmac
import secrets
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row, delete, func, insert, or_, select, update

from catalog.accounts import Account, account_of
from catalog.engine import Database
from catalog.scopes import DEFAULT_SCOPES, Patterns, Scope, covers, parse_patterns, with_included, within
from catalog.tables import accounts, tokens
from catalog.token_text import TokenParts, parse_token, token_text
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import AccessDenied, AuthenticationRequired, LimitExceeded, NotFound
from opendatafabric.names import AccountName
from opendatafabric.server_limits import ACCOUNT_TOKENS_MAX, ENDED_TOKENS_KEPT_S

USE_NOTED_EVERY_S: Final = 60
"""The last use of a token is written down no more often than this, in seconds: reading must stay cheap."""

_OF_ACCOUNT: Final = tuple(accounts.c[name] for name in ("name", "is_admin", "password_hash", "kind", "disabled_at"))
_ID_CHARS_SHOWN: Final = 36
_AT_ONCE: Final = 500
"""So many tokens are asked for in one question."""
_NO_HASH: Final = bytes(32)
"""Compared with when there is no such token, so that this takes as long."""


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A token as it may be listed. Times are seconds since 1970."""

    id: str
    account: AccountName
    scopes: frozenset[Scope]
    datasets: Patterns
    created_at: float
    expires_at: float | None
    revoked_at: float | None
    last_used_at: float | None


@dataclass(frozen=True, slots=True)
class Authenticated:
    """Who a valid token speaks for, and what it is good for; ``scopes`` with all that they include."""

    account: Account
    scopes: frozenset[Scope]
    datasets: Patterns = ()

    def check_may_give(self, scopes: Iterable[Scope], datasets: Patterns) -> None:
        """Raise ``AccessDenied`` unless a token for that is good for nothing that this one is not good for."""
        wider = sorted(scope.value for scope in with_included(scopes) - self.scopes)
        if wider:
            raise AccessDenied("this token cannot give more than it is good for", found=", ".join(wider))
        if Scope.ADMIN in scopes and not self.account.is_admin:
            raise AccessDenied("the scope admin is for administrators")
        if not within(datasets, self.datasets):
            bound = ", ".join(map(str, self.datasets))
            raise AccessDenied("this token is bound to some datasets and gives none for others", expected=bound)

    def allows(self, scope: Scope, alias: DatasetAlias) -> bool:
        """Whether the token is good for ``scope`` at the dataset ``alias``, which names its account."""
        return scope in self.scopes and covers(self.datasets, alias)


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
        scopes: Collection[Scope] = DEFAULT_SCOPES,
        *,
        datasets: Patterns = (),
        expires_at: float | None = None,
    ) -> str:
        """A new token, for the ``datasets`` named alone if there are some; its text is not kept: it is had only now.

        Tokens of the account that ended long ago are forgotten.

        Raises:
            LimitExceeded: the account has too many.
        """
        parts = TokenParts(uuid.uuid4().bytes, secrets.token_bytes(16))
        row = {
            "id": parts.token_id,
            "account_id": str(account.id),
            "secret_hash": parts.secret_hash,
            "scopes": " ".join(sorted(scope.value for scope in scopes)),
            "datasets": " ".join(map(str, datasets)) or None,
            "created_at": self._now(),
            "expires_at": expires_at,
        }
        own = tokens.c.account_id == str(account.id)
        long_ago = self._now() - ENDED_TOKENS_KEPT_S
        forgotten = or_(tokens.c.revoked_at < long_ago, tokens.c.expires_at < long_ago)
        async with self._database.writing() as connection:
            await connection.execute(delete(tokens).where(own, forgotten))
            known = (await connection.execute(select(func.count()).select_from(tokens).where(own))).scalar_one()
            if known >= ACCOUNT_TOKENS_MAX:
                raise LimitExceeded(
                    f"{account.name} has too many tokens",
                    expected=f"at most {ACCOUNT_TOKENS_MAX}, with those that ended lately",
                    hint="let one program keep its token instead of logging in each time",
                )
            await connection.execute(insert(tokens).values(row))
        return token_text(parts)

    async def authenticate(self, text: str) -> Authenticated:
        """Whose token that is.

        Raises:
            TokenExpired: its time is over.
            AuthenticationRequired: malformed, unknown or revoked, or its account is disabled: which is not said.
        """
        parts = parse_token(text)
        row = (await self._rows([parts.token_id])).get(parts.token_id)
        known = self._known(parts, row)
        if row is not None:
            await self._note_use(row)
        return known

    async def authenticate_all(self, texts: Collection[str]) -> dict[str, Authenticated]:
        """Whose tokens those are that count; that they were looked at is no use of them."""
        parts = {}
        for text in texts:
            with suppress(AuthenticationRequired):
                parts[text] = parse_token(text)
        rows = await self._rows([each.token_id for each in parts.values()])
        found = {}
        for text, each in parts.items():
            with suppress(AuthenticationRequired):
                found[text] = self._known(each, rows.get(each.token_id))
        return found

    async def _rows(self, ids: Sequence[str]) -> dict[str, Row[Any]]:
        joined = select(tokens, *_OF_ACCOUNT).join(accounts, accounts.c.id == tokens.c.account_id)
        found: dict[str, Row[Any]] = {}
        async with self._database.reading() as connection:
            for start in range(0, len(ids), _AT_ONCE):
                some = joined.where(tokens.c.id.in_(ids[start : start + _AT_ONCE]))
                found |= {row.id: row for row in await connection.execute(some)}
        return found

    def _known(self, parts: TokenParts, row: Row[Any] | None) -> Authenticated:
        is_right = hmac.compare_digest(_NO_HASH if row is None else row.secret_hash, parts.secret_hash)
        if row is None or not is_right or row.revoked_at is not None or row.disabled_at is not None:
            raise AuthenticationRequired("Authentication token invalid")
        if row.expires_at is not None and row.expires_at <= self._now():
            raise TokenExpired("Authentication token expired")
        account = account_of(row, account_id=row.account_id)
        return Authenticated(account, with_included(_scopes(row)), _datasets(row))

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

    async def revoke(self, token_id: str, *, of: Account | None = None) -> None:
        """End a token by the id that ``list`` shows, of that account if one is named; ``NotFound`` when there is none,
        or it has ended."""
        wanted = [tokens.c.id == token_id, tokens.c.revoked_at.is_(None)]
        if of is not None:
            wanted.append(tokens.c.account_id == str(of.id))
        async with self._database.writing() as connection:
            done = await connection.execute(update(tokens).where(*wanted).values(revoked_at=self._now()))
        if done.rowcount == 0:
            shown = token_id[:_ID_CHARS_SHOWN]
            raise NotFound(f"there is no token {shown} in force", hint="odf token list shows the ids")


def _scopes(row: Row[Any]) -> frozenset[Scope]:
    return frozenset(Scope(name) for name in row.scopes.split())


def _datasets(row: Row[Any]) -> Patterns:
    return parse_patterns((row.datasets or "").split())


def _info(row: Row[Any]) -> TokenInfo:
    return TokenInfo(
        id=row.id,
        account=AccountName(row.name),
        scopes=_scopes(row),
        datasets=_datasets(row),
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        last_used_at=row.last_used_at,
    )
