"""The datasets of repositories whose tables lie in the catalog: which there are, and what they are called.

A place below that of the repository belongs to each: its refs and files go with it, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, delete, exists, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.lifecycle_tables import retired_datasets
from catalog.stored_files import release
from catalog.tables import held_files, named_files, stored_datasets, stored_leases, stored_places, stored_refs
from opendatafabric.block_ref import HEAD
from opendatafabric.dataset_ref import DatasetAlias, DatasetRef
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, NameCollision, RefCollision
from storage.folders import RetiredDataset, id_in_name
from storage.ipfs.table import StoredDataset
from storage.retired import not_retired, was_deleted


class PlaceDatasets:
    """A DatasetTable: the rows of one repository."""

    def __init__(self, database: Database, now: Callable[[], float], place: str) -> None:
        self._database = database
        self._now = now
        self._place = place

    async def make(self) -> None:
        """As in the protocol."""
        made = upsert(stored_places).values(place=self._place, made_at=self._now()).on_conflict_do_nothing()
        async with self._database.writing() as connection:
            await connection.execute(made)

    async def exists(self) -> bool:
        """As in the protocol."""
        async with self._database.reading() as connection:
            found = await connection.execute(select(stored_places).where(stored_places.c.place == self._place))
            return found.first() is not None

    async def find(self, ref: DatasetRef) -> StoredDataset | None:
        """As in the protocol."""
        async with self._database.reading() as connection:
            return await self._find(connection, self._is(ref))

    async def list(self) -> Sequence[StoredDataset]:
        """As in the protocol."""
        async with self._database.reading() as connection:
            found = [_dataset(row) for row in await connection.execute(self._query())]
        return sorted(found, key=lambda each: each.alias)

    async def create(self, alias: DatasetAlias, dataset_id: DatasetId) -> None:
        """As in the protocol."""
        row = {"place": self._place, "id": dataset_id.multibase, "created_at": self._now()}
        async with self._database.writing() as connection:
            known = await self._find(connection, self._is(dataset_id))
            if known is not None and known.pending and known.alias == alias:
                return
            if known is not None:
                raise RefCollision(f"dataset {dataset_id} exists already", found=dataset_id)
            if (await connection.execute(select(retired_datasets).where(self._is_retired(dataset_id)))).first():
                raise was_deleted(dataset_id)
            await self._require_free(connection, alias)
            await connection.execute(insert(stored_datasets).values(row | _named(alias)))

    async def rename(self, dataset_id: DatasetId, alias: DatasetAlias) -> None:
        """As in the protocol."""
        async with self._database.writing() as connection:
            await self._require_free(connection, alias, but=dataset_id)
            renamed = update(stored_datasets).where(self._is(dataset_id)).values(_named(alias))
            if not (await connection.execute(renamed)).rowcount:
                raise _not_found(dataset_id)

    async def remove(self, dataset_id: DatasetId) -> None:
        """As in the protocol."""
        async with self._database.writing() as connection:
            if await self._find(connection, self._is(dataset_id)) is None:
                raise _not_found(dataset_id)
            await self._remove(connection, dataset_id)

    async def remove_pending(self, before: float) -> Sequence[DatasetId]:
        """As in the protocol."""
        async with self._database.writing() as connection:
            found = [_dataset(row) for row in await connection.execute(self._query())]
            pending = [each.id for each in found if each.pending]
            old = [each for each in pending if await self._last_change(connection, each) < before]
            for dataset_id in old:
                await self._remove(connection, dataset_id)
        return old

    async def retire(self, dataset_id: DatasetId) -> None:
        """As in the protocol."""
        async with self._database.writing() as connection:
            if (await connection.execute(select(retired_datasets).where(self._is_retired(dataset_id)))).first():
                return
            found = await self._find(connection, self._is(dataset_id))
            if found is None or found.pending:
                raise _not_found(dataset_id)
            row = {"place": self._place, "id": dataset_id.multibase, "alias": str(found.alias)}
            await connection.execute(delete(stored_datasets).where(self._is(dataset_id)))
            await connection.execute(insert(retired_datasets).values(row | {"retired_at": self._now()}))

    async def restore(self, dataset_id: DatasetId, alias: DatasetAlias) -> None:
        """As in the protocol."""
        row = {"place": self._place, "id": dataset_id.multibase, "created_at": self._now()}
        async with self._database.writing() as connection:
            await self._take_retired(connection, dataset_id)
            await self._require_free(connection, alias)
            await connection.execute(insert(stored_datasets).values(row | _named(alias)))

    async def discard(self, dataset_id: DatasetId) -> None:
        """As in the protocol."""
        async with self._database.writing() as connection:
            await self._take_retired(connection, dataset_id)
            await self._remove(connection, dataset_id)

    async def retired(self) -> Sequence[RetiredDataset]:
        """As in the protocol."""
        query = select(retired_datasets).where(retired_datasets.c.place == self._place)
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
        return [RetiredDataset(_id_in(row.id), DatasetAlias.from_text(row.alias)) for row in rows]

    async def _take_retired(self, connection: AsyncConnection, dataset_id: DatasetId) -> None:
        if not (await connection.execute(delete(retired_datasets).where(self._is_retired(dataset_id)))).rowcount:
            raise not_retired(dataset_id)

    def _is_retired(self, dataset_id: DatasetId) -> ColumnElement[bool]:
        table = retired_datasets.c
        return (table.place == self._place) & (table.id == dataset_id.multibase)

    def _query(self) -> Select[Any]:
        table = stored_datasets.c
        place = table.place + "/" + table.id
        has_head = exists().where(stored_refs.c.place == place, stored_refs.c.name == HEAD)
        return select(table.id, table.alias, has_head.label("has_head")).where(table.place == self._place)

    def _is(self, ref: DatasetRef) -> ColumnElement[bool]:
        table = stored_datasets.c
        here = table.place == self._place
        if isinstance(ref, DatasetId):
            return here & (table.id == ref.multibase)
        return here & (table.alias_folded == _folded(ref))

    async def _find(self, connection: AsyncConnection, condition: ColumnElement[bool]) -> StoredDataset | None:
        row = (await connection.execute(self._query().where(condition))).first()
        return None if row is None else _dataset(row)

    async def _require_free(
        self, connection: AsyncConnection, alias: DatasetAlias, *, but: DatasetId | None = None
    ) -> None:
        holder = await self._find(connection, self._is(alias))
        if holder is not None and holder.id != but:
            raise NameCollision(f"the name {alias} is taken by another dataset", found=alias)

    async def _last_change(self, connection: AsyncConnection, dataset_id: DatasetId) -> float:
        place = f"{self._place}/{dataset_id.multibase}"
        times = (
            select(stored_datasets.c.created_at).where(self._is(dataset_id)),
            select(func.max(named_files.c.modified_at)).where(named_files.c.place == place),
            select(func.max(held_files.c.held_at)).where(held_files.c.place == place),
        )
        return max([(await connection.execute(query)).scalar() or 0.0 for query in times])

    async def _remove(self, connection: AsyncConnection, dataset_id: DatasetId) -> None:
        place = f"{self._place}/{dataset_id.multibase}"
        await connection.execute(delete(stored_datasets).where(self._is(dataset_id)))
        for table in (stored_refs, stored_leases):
            await connection.execute(delete(table).where(table.c.place == place))
        cids: set[bytes] = set()
        for table in (named_files, held_files):
            gone = delete(table).where(table.c.place == place).returning(table.c.cid)
            cids.update((await connection.execute(gone)).scalars())
        await release(connection, cids)


def _dataset(row: Row[Any]) -> StoredDataset:
    return StoredDataset(_id_in(row.id), DatasetAlias.from_text(row.alias), pending=not row.has_head)


def _id_in(name: str) -> DatasetId:
    dataset_id = id_in_name(name)
    assert dataset_id is not None, name
    return dataset_id


def _named(alias: DatasetAlias) -> dict[str, str]:
    return {"alias": str(alias), "alias_folded": _folded(alias)}


def _folded(alias: DatasetAlias) -> str:
    return str(alias).lower()


def _not_found(dataset_id: DatasetId) -> DatasetNotFound:
    return DatasetNotFound(f"dataset {dataset_id} is not in the repository", hint="odf list shows what is")
