"""The audit trail: what happened to the data besides pushes, written once and never changed.

Every entry holds the hash of the one before it, so that an entry that was changed or taken out is noticed: ``check``
says where. The hash covers the text of the entry as canonical JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Row, insert, select

from catalog.engine import Database
from catalog.tables import audit
from opendatafabric.multihash import physical_hash


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """``action`` was done to ``subject``; ``at`` in seconds since 1970."""

    id: int
    at: float
    action: str
    subject: str
    details: Mapping[str, Any]
    hash: str

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {name: getattr(self, name) for name in ("id", "at", "action", "subject", "details", "hash")}


class Audit:
    """The audit trail of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def append(self, action: str, subject: str, details: Mapping[str, Any]) -> None:
        """Write down what happened."""
        newest = select(audit.c.id, audit.c.hash).order_by(audit.c.id.desc()).limit(1)
        async with self._database.writing() as connection:
            previous = (await connection.execute(newest)).first()
            row = {
                "id": 1 if previous is None else previous.id + 1,
                "at": self._now(),
                "action": action,
                "subject": subject,
                "details": orjson.dumps(details, option=orjson.OPT_SORT_KEYS).decode(),
            }
            row["hash"] = _hash_of(row, "" if previous is None else previous.hash)
            await connection.execute(insert(audit).values(row))

    async def list(self, *, limit: int = 1_000) -> list[AuditEntry]:
        """The newest entries, newest first."""
        async with self._database.reading() as connection:
            rows = await connection.execute(select(audit).order_by(audit.c.id.desc()).limit(limit))
            return [_entry(row) for row in rows]

    async def check(self) -> int | None:
        """The first entry that is not as it was written, or follows one that is missing; ``None`` if all are sound.

        Entries cut off at the end leave no trace here: keep the newest hash elsewhere to notice that.
        """
        previous, expected_id = "", 1
        async with self._database.reading() as connection:
            for row in await connection.execute(select(audit).order_by(audit.c.id)):
                if row.id != expected_id or row.hash != _hash_of(row._asdict(), previous):
                    return expected_id
                previous, expected_id = row.hash, row.id + 1
        return None


def _hash_of(row: Mapping[str, Any], previous: str) -> str:
    text = [row["id"], row["at"], row["action"], row["subject"], row["details"], previous]
    return str(physical_hash(orjson.dumps(text)))


def _entry(row: Row[Any]) -> AuditEntry:
    return AuditEntry(row.id, row.at, row.action, row.subject, orjson.loads(row.details), row.hash)
