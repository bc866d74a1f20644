"""The signed records of IPNS names, one for each dataset: what the servers of a repository agree on.

Keys are not kept here. A record that others have seen must not be followed by one with a lower number, so numbers start
at the time of day and survive the loss of this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, select
from sqlalchemy.dialects.sqlite import insert as upsert

from catalog.engine import Database
from catalog.tables import ipns_records
from opendatafabric.did import DatasetId


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """``signed`` is the record as others get it; ``valid_until`` in seconds since 1970."""

    dataset_id: DatasetId
    name: str
    value: str
    sequence: int
    valid_until: float
    signed: bytes


class IpnsRecords:
    """Records over one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_dataset(self, dataset_id: DatasetId) -> StoredRecord | None:
        """The record of a dataset."""
        return await self._find(ipns_records.c.dataset_id == str(dataset_id))

    async def of_name(self, name: str) -> StoredRecord | None:
        """The record of a name in its canonical form (``k51…``)."""
        return await self._find(ipns_records.c.name == name)

    async def replace(
        self, dataset_id: DatasetId, renewed: Callable[[StoredRecord | None], StoredRecord | None]
    ) -> StoredRecord | None:
        """Put what ``renewed`` makes of the record of a dataset, which nobody changes meanwhile; ``None`` keeps it."""
        async with self._database.writing() as connection:
            query = select(ipns_records).where(ipns_records.c.dataset_id == str(dataset_id))
            row = (await connection.execute(query)).first()
            known = None if row is None else _stored(row)
            record = renewed(known)
            if record is None:
                return known
            values = _row(record)
            statement = upsert(ipns_records).values(values)
            await connection.execute(statement.on_conflict_do_update(index_elements=["dataset_id"], set_=values))
            return record

    async def forget(self, dataset_id: DatasetId) -> None:
        """Have no record of a dataset any more."""
        async with self._database.writing() as connection:
            await connection.execute(delete(ipns_records).where(ipns_records.c.dataset_id == str(dataset_id)))

    async def _find(self, condition: ColumnElement[bool]) -> StoredRecord | None:
        async with self._database.reading() as connection:
            row = (await connection.execute(select(ipns_records).where(condition))).first()
        return None if row is None else _stored(row)


def _row(record: StoredRecord) -> dict[str, Any]:
    return {
        "dataset_id": str(record.dataset_id),
        "name": record.name,
        "value": record.value,
        "sequence": record.sequence,
        "valid_until": record.valid_until,
        "record": record.signed,
    }


def _stored(row: Row[Any]) -> StoredRecord:
    return StoredRecord(
        DatasetId.from_text(row.dataset_id), row.name, row.value, row.sequence, row.valid_until, row.record
    )
