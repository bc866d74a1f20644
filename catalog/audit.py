"""The audit log: who changed what, or was refused to, written once and never changed.

Entries are chained by their hashes (``audit_chain.py``); the database itself refuses to change them. Texts come from
strangers: whatever in them is no text for one line is kept as an escape, and long ones are cut.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from sqlalchemy import Row, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.audit_chain import (
    BEGINNING,
    AuditEntry,
    ChainCheck,
    ChainPlace,
    details_text,
    entry_after,
)
from catalog.audit_tables import audit, audit_archives
from catalog.engine import Database
from opendatafabric.errors import Conflict
from opendatafabric.server_limits import AUDIT_TEXT_CHARS_MAX
from opendatafabric.visible import visible_in_line

ARCHIVED: Final = "audit-archived"
_COMMANDS: Final = "odf "
"""How what commands did is called in the log."""

_PAGE: Final = 1_000
_LIST_MAX: Final = 100
_TOO_DEEP: Final = 4
"""Details are flat, or lists in lists at most."""


@dataclass(frozen=True, slots=True)
class Deed:
    """``action`` was done to ``subject``, or was to be."""

    action: str
    subject: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


class Audit:
    """The audit log of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def append(self, action: str, subject: str, details: Mapping[str, Any]) -> None:
        """Write down what happened."""
        await self.append_all([Deed(action, subject, details)])

    async def last_command(self, after: int = 0) -> int:
        """The number of the last entry of a command, or ``after`` if none came since."""
        of_commands = audit.c.action.startswith(_COMMANDS, autoescape=True)
        query = select(func.max(audit.c.id)).where(audit.c.id > after, of_commands)
        async with self._database.reading() as connection:
            return (await connection.execute(query)).scalar() or after

    async def append_all(self, deeds: Sequence[Deed]) -> None:
        """Write down what happened, in this order and in one transaction."""
        async with self._database.writing() as connection:
            await self._append(connection, deeds)

    async def _append(self, connection: AsyncConnection, deeds: Sequence[Deed]) -> None:
        place, at, rows = await self._newest(connection), float(self._now()), []
        for deed in deeds:
            action, subject, details = (_harmless(each) for each in (deed.action, deed.subject, dict(deed.details)))
            entry = entry_after(place, at=at, action=action, subject=subject, details=details)
            place = entry.place
            row = {name: getattr(entry, name) for name in ("id", "at", "action", "subject", "hash")}
            rows.append(row | {"details": details_text(details)})
        if rows:
            await connection.execute(insert(audit), rows)

    async def list(self, *, limit: int = 1_000) -> list[AuditEntry]:
        """The newest entries, newest first."""
        async with self._database.reading() as connection:
            rows = list(await connection.execute(select(audit).order_by(audit.c.id.desc()).limit(limit + 1)))
            first = await self._archived(connection)
        befores = [row.hash for row in rows[1:]] + [first.hash if len(rows) <= limit else ""]
        return [_entry(row, before) for row, before in zip(rows, befores, strict=False)][:limit]

    async def pages(self, *, since: float = 0.0, before: float | None = None) -> AsyncIterator[Sequence[AuditEntry]]:
        """The entries from the first one that is not older than ``since`` up to the first that is not older than
        ``before``, oldest first, a page at a time."""
        place = await self._last_before(since)
        last_id = None if before is None else (await self._last_before(before)).id
        while page := await self._page_after(place, last_id):
            yield page
            place = page[-1].place

    async def archived(self) -> ChainPlace:
        """The newest entry that lies in an archive; the first one here follows it."""
        async with self._database.reading() as connection:
            return await self._archived(connection)

    async def newest(self) -> ChainPlace:
        """The newest entry of all: kept elsewhere, it proves later that nothing was cut off."""
        async with self._database.reading() as connection:
            return await self._newest(connection)

    async def check(self, walked: ChainCheck | None = None) -> int | None:
        """The first entry that is not as it was written, or follows one that is missing; ``None`` if all are sound.

        With ``walked`` the walk goes on from where it stands.
        """
        check = ChainCheck(await self.archived()) if walked is None else walked
        async for page in self.pages():
            check.walk(page)
        return check.finish()

    async def drop_archived(self, *, first: int, last: ChainPlace, file_hash: str) -> None:
        """Remove the entries up to ``last``, which lie in a file of that hash; the log says so itself.

        Raises:
            Conflict: they were archived before, by somebody else.
        """
        details = {"first": first, "last": last.id, "last_hash": last.hash, "file_hash": file_hash}
        row = {"last_id": last.id, "last_hash": last.hash, "at": self._now(), "file_hash": file_hash}
        async with self._database.writing() as connection:
            if (await self._archived(connection)).id != first - 1:
                raise Conflict("the audit log was archived by somebody else meanwhile", hint="do it again")
            await self._append(connection, [Deed(ARCHIVED, f"{first}-{last.id}", details)])
            await connection.execute(insert(audit_archives).values(row))
            await connection.execute(delete(audit).where(audit.c.id <= last.id))

    async def _newest(self, connection: AsyncConnection) -> ChainPlace:
        newest = select(audit.c.id, audit.c.hash).order_by(audit.c.id.desc()).limit(1)
        row = (await connection.execute(newest)).first()
        return await self._archived(connection) if row is None else ChainPlace(row.id, row.hash)

    async def _archived(self, connection: AsyncConnection) -> ChainPlace:
        newest = select(audit_archives).order_by(audit_archives.c.last_id.desc()).limit(1)
        row = (await connection.execute(newest)).first()
        return BEGINNING if row is None else ChainPlace(row.last_id, row.last_hash)

    async def _last_before(self, moment: float) -> ChainPlace:
        """The entry before the first one that is not older."""
        if moment <= 0:
            return await self.archived()
        first = select(func.min(audit.c.id)).where(audit.c.at >= moment)
        async with self._database.reading() as connection:
            first_id = (await connection.execute(first)).scalar()
            if first_id is None:
                return await self._newest(connection)
            row = (await connection.execute(select(audit.c.hash).where(audit.c.id == first_id - 1))).first()
            archived = await self._archived(connection)
        return archived if row is None else ChainPlace(first_id - 1, row.hash)

    async def _page_after(self, place: ChainPlace, last_id: int | None) -> Sequence[AuditEntry]:
        query = select(audit).where(audit.c.id > place.id).order_by(audit.c.id).limit(_PAGE)
        if last_id is not None:
            query = query.where(audit.c.id <= last_id)
        async with self._database.reading() as connection:
            rows = list(await connection.execute(query))
        befores = [place.hash, *(row.hash for row in rows)]
        return [_entry(row, before) for row, before in zip(rows, befores, strict=False)]


def _harmless(value: Any, depth: int = 0) -> Any:
    """``value`` with texts that fit into a line of a log."""
    if isinstance(value, str):
        return visible_in_line(value[:AUDIT_TEXT_CHARS_MAX])
    if isinstance(value, Mapping) and depth < _TOO_DEEP:
        return {_harmless(str(name)): _harmless(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple) and depth < _TOO_DEEP:
        return [_harmless(each, depth + 1) for each in value[:_LIST_MAX]]
    return value if value is None or isinstance(value, bool | int | float) else _harmless(str(value))


def _entry(row: Row[Any], previous: str) -> AuditEntry:
    try:
        details = orjson.loads(row.details)
    except orjson.JSONDecodeError:
        details = {"unreadable": row.details}
    return AuditEntry(row.id, row.at, row.action, row.subject, details, previous, row.hash)
