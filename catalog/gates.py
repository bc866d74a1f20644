"""Which datasets have a gate before their head, and the journal of promotions that are under way.

A dataset with a gate is pushed to another ref, which becomes the head when it was verified. What that takes is not
known here; the journal says which heads were to move together, for whoever comes after a crash.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, insert, select

from catalog.engine import Database
from catalog.verification_tables import gates, promotions
from opendatafabric.did import DatasetId
from opendatafabric.multihash import Multihash


@dataclass(frozen=True, slots=True)
class Gate:
    """``replay`` when the steps of a derivative have to be repeated too."""

    replay: bool


@dataclass(frozen=True, slots=True)
class HeadToMove:
    """One head of a promotion."""

    dataset_id: DatasetId
    expected_head: Multihash | None
    new_head: Multihash


class Gates:
    """The gates of one catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def set(self, dataset_id: DatasetId, gate: Gate) -> None:
        """Have that gate, instead of the one there was."""
        async with self._database.writing() as connection:
            await connection.execute(delete(gates).where(gates.c.dataset_id == str(dataset_id)))
            values = {"dataset_id": str(dataset_id), "replay": int(gate.replay)}
            await connection.execute(insert(gates).values(values))

    async def remove(self, dataset_id: DatasetId) -> None:
        """Have none."""
        async with self._database.writing() as connection:
            await connection.execute(delete(gates).where(gates.c.dataset_id == str(dataset_id)))

    async def find(self, dataset_id: DatasetId) -> Gate | None:
        """The gate of a dataset, if it has one."""
        query = select(gates.c.replay).where(gates.c.dataset_id == str(dataset_id))
        async with self._database.reading() as connection:
            row = (await connection.execute(query)).first()
        return None if row is None else Gate(bool(row.replay))

    async def begin(self, heads: Sequence[HeadToMove]) -> str:
        """Note that these heads are about to move together; the name of the note."""
        name = secrets.token_hex(8)
        async with self._database.writing() as connection:
            await connection.execute(insert(promotions), [_row(name, head) for head in heads])
        return name

    async def end(self, name: str) -> None:
        """They have moved, or none has."""
        async with self._database.writing() as connection:
            await connection.execute(delete(promotions).where(promotions.c.id == name))

    async def begun(self) -> dict[str, list[HeadToMove]]:
        """Every promotion that has not ended: it goes on, or was broken off."""
        found: dict[str, list[HeadToMove]] = {}
        async with self._database.reading() as connection:
            for row in await connection.execute(select(promotions).order_by(promotions.c.id, promotions.c.dataset_id)):
                found.setdefault(row.id, []).append(_head(row))
        return found


def _row(name: str, head: HeadToMove) -> dict[str, Any]:
    return {
        "id": name,
        "dataset_id": str(head.dataset_id),
        "expected_head": None if head.expected_head is None else str(head.expected_head),
        "new_head": str(head.new_head),
    }


def _head(row: Row[Any]) -> HeadToMove:
    expected = None if row.expected_head is None else Multihash.from_text(row.expected_head)
    return HeadToMove(DatasetId.from_text(row.dataset_id), expected, Multihash.from_text(row.new_head))
