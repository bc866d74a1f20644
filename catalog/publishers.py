"""Trusted publishers: runs of a CI system that may push to a dataset, told by what the system's tokens say of them.

Each token of such a system is taken once.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from sqlalchemy import Row, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from catalog.engine import Database
from catalog.login_tables import publishers, used_identity_tokens
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import LimitExceeded, MalformedInput, NotFound, StorageError
from opendatafabric.login_limits import PUBLISHER_CLAIMS_MAX, PUBLISHER_TEXT_CHARS_MAX, PUBLISHERS_MAX

IDENTIFYING: Final = frozenset(
    {
        "namespace_id",
        "namespace_path",
        "project_id",
        "project_path",
        "repository",
        "repository_id",
        "repository_owner",
        "repository_owner_id",
        "sub",
    }
)
"""Claims that tell one user of a CI system from all others; without a condition on one, everybody there might push."""

_ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose runs: ``claims`` are patterns by name. Without an ``audience`` tokens are made for this server's address.

    Raises:
        MalformedInput: texts that are none, or conditions that strangers meet too.
        LimitExceeded: too many conditions.
    """

    issuer: str
    claims: Mapping[str, str]
    audience: str | None = None

    def __post_init__(self) -> None:
        """Check that it trusts somebody in particular."""
        for text in (self.issuer, *self.claims, *self.claims.values(), *([self.audience] if self.audience else [])):
            if not 0 < len(text) <= PUBLISHER_TEXT_CHARS_MAX or not text.isprintable():
                raise MalformedInput("a publisher is told by lines of text", expected="1 to 500 characters")
        if len(self.claims) > PUBLISHER_CLAIMS_MAX:
            raise LimitExceeded("a publisher has too many conditions", expected=f"at most {PUBLISHER_CLAIMS_MAX}")
        if not any(_is_particular(pattern) for name, pattern in self.claims.items() if name in IDENTIFYING):
            raise MalformedInput(
                "everybody at the issuer would be trusted",
                expected=f"a condition on one of {', '.join(sorted(IDENTIFYING))}",
                hint="repository=alice/weather; a * stands after a slash at the earliest",
            )


@dataclass(frozen=True, slots=True)
class Publisher:
    """A trust that ``account_id`` gave to a dataset; ``created_at`` in seconds since 1970."""

    id: str
    dataset_id: DatasetId
    account_id: AccountId
    trust: Trust
    created_at: float


class Publishers:
    """Those of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database, self._now = database, now

    async def add(self, dataset_id: DatasetId, account_id: AccountId, trust: Trust) -> Publisher:
        """Let those runs push to the dataset, as the account.

        Raises:
            LimitExceeded: the dataset has as many publishers as it may.
        """
        made = Publisher(str(uuid.uuid4()), dataset_id, account_id, trust, self._now())
        row = {
            "id": made.id,
            "dataset_id": str(dataset_id),
            "account_id": str(account_id),
            "issuer": trust.issuer,
            "audience": trust.audience,
            "claims": orjson.dumps(dict(trust.claims)).decode(),
            "created_at": made.created_at,
        }
        count = select(func.count()).where(publishers.c.dataset_id == str(dataset_id))
        async with self._database.writing() as connection:
            if (await connection.execute(count)).scalar_one() >= PUBLISHERS_MAX:
                raise LimitExceeded("the dataset has too many publishers", expected=f"at most {PUBLISHERS_MAX}")
            await connection.execute(insert(publishers).values(row))
        return made

    async def of(self, dataset_id: DatasetId) -> list[Publisher]:
        """Those of a dataset, oldest first."""
        return await self._found(publishers.c.dataset_id == str(dataset_id))

    async def of_issuer(self, issuer: str) -> list[Publisher]:
        """Those that are told by tokens of an issuer."""
        return await self._found(publishers.c.issuer == issuer)

    async def remove(self, dataset_id: DatasetId, publisher_id: str) -> None:
        """Trust it no longer; ``NotFound`` when the dataset has none of that id."""
        gone = delete(publishers).where(publishers.c.id == publisher_id, publishers.c.dataset_id == str(dataset_id))
        async with self._database.writing() as connection:
            done = await connection.execute(gone)
        if done.rowcount == 0:
            raise NotFound("the dataset has no such publisher", hint="odf trust list REF shows the ids")

    async def use(self, token: str, *, expires_at: float) -> bool:
        """Note that a token of an issuer is used; whether it is for the first time. It is forgotten once it is over."""
        row = {"token_hash": hashlib.sha256(token.encode(errors="replace")).digest(), "expires_at": expires_at}
        over = delete(used_identity_tokens).where(used_identity_tokens.c.expires_at <= self._now())
        try:
            async with self._database.writing() as connection:
                await connection.execute(over)
                await connection.execute(insert(used_identity_tokens).values(row))
        except StorageError as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            return False
        return True

    async def _found(self, condition: Any) -> list[Publisher]:
        query = select(publishers).where(condition).order_by(publishers.c.created_at, publishers.c.id)
        async with self._database.reading() as connection:
            return [_publisher(row) for row in await connection.execute(query)]


def _is_particular(pattern: str) -> bool:
    fixed, star, _ = pattern.partition(_ANY)
    return not star or "/" in fixed


def _publisher(row: Row[Any]) -> Publisher:
    trust = Trust(row.issuer, orjson.loads(row.claims), row.audience)
    dataset_id, account_id = DatasetId.from_text(row.dataset_id), AccountId.from_text(row.account_id)
    return Publisher(row.id, dataset_id, account_id, trust, row.created_at)
