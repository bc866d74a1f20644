"""What happened to datasets, for whoever wants to hear of it: kept for a while, in order, each with a number.

An event is written in the transaction that makes it true, so none is told that did not happen and none is lost. Times
are seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import orjson
from sqlalchemy import Row, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.event_tables import events
from catalog.tables import datasets
from catalog.visibility import Visibility
from opendatafabric.did import DatasetId
from opendatafabric.errors import NotFound

READ_AT_ONCE: Final = 500
"""So many events are read in one question."""


class EventType(StrEnum):
    """What may happen to a dataset."""

    CREATED = "dataset-created"
    HEAD_MOVED = "head-moved"
    RENAMED = "dataset-renamed"
    VISIBILITY_CHANGED = "visibility-changed"
    VERDICT_CHANGED = "verdict-changed"
    GONE = "dataset-gone"


@dataclass(frozen=True, slots=True)
class Happening:
    """What is to be noted of a dataset."""

    type: EventType
    dataset_id: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """``alias`` is how the dataset was called then, with its account where the catalog knew it; ``public`` whether
    anybody could see it."""

    id: int
    at: float
    type: EventType
    dataset_id: DatasetId
    alias: str | None
    public: bool
    details: Mapping[str, Any]


class Events:
    """Those of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database, self._now = database, now

    async def note(self, type_: EventType, dataset_id: DatasetId, details: Mapping[str, Any]) -> None:
        """Something happened."""
        async with self._database.writing() as connection:
            await note_event(connection, self._now(), type_, str(dataset_id), details)

    async def newest(self) -> int:
        """The number of the last one; 0 if there was none."""
        async with self._database.reading() as connection:
            return (await connection.execute(select(func.max(events.c.id)))).scalar() or 0

    async def after(self, number: int, *, count: int = READ_AT_ONCE) -> list[Event]:
        """At most ``count`` that came after the one of that number, oldest first."""
        query = select(events).where(events.c.id > number).order_by(events.c.id).limit(count)
        async with self._database.reading() as connection:
            return [_event(row) for row in await connection.execute(query)]

    async def find(self, number: int) -> Event:
        """The one of that number.

        Raises:
            NotFound: there is none, or not any more.
        """
        async with self._database.reading() as connection:
            row = (await connection.execute(select(events).where(events.c.id == number))).first()
        if row is None:
            raise NotFound("there is no such event", hint="those that are too old are forgotten")
        return _event(row)

    async def clear(self, *, older_than_s: float) -> None:
        """Forget what is that old."""
        async with self._database.writing() as connection:
            await connection.execute(delete(events).where(events.c.at < self._now() - older_than_s))


async def note_event(
    connection: AsyncConnection, at: float, type_: EventType, dataset_id: str, details: Mapping[str, Any]
) -> None:
    """The same in a transaction that is under way."""
    await note_events(connection, at, [Happening(type_, dataset_id, details)])


async def note_events(connection: AsyncConnection, at: float, happenings: Sequence[Happening]) -> None:
    """The same of many, in this order."""
    if not happenings:
        return
    these = datasets.c.id.in_([each.dataset_id for each in happenings])
    found = await connection.execute(select(datasets.c.id, datasets.c.alias, datasets.c.visibility).where(these))
    known = {row.id: row for row in found}
    rows = [_row(at, each, known.get(each.dataset_id)) for each in happenings]
    await connection.execute(insert(events), rows)


def _row(at: float, happening: Happening, known: Any) -> dict[str, Any]:
    return {
        "at": at,
        "type": happening.type.value,
        "dataset_id": happening.dataset_id,
        "alias": None if known is None else known.alias,
        "public": int(known is not None and known.visibility == Visibility.PUBLIC.value),
        "details": orjson.dumps(dict(happening.details)).decode(),
    }


def _event(row: Row[Any]) -> Event:
    return Event(
        row.id,
        row.at,
        EventType(row.type),
        DatasetId.from_text(row.dataset_id),
        row.alias,
        bool(row.public),
        orjson.loads(row.details),
    )
