"""The tables of stores that need a database: which key is which CID in IPFS, and refs that compare and swap here.

``storage/ipfs/table.py`` and ``storage/protocols.py`` say what they promise. These are truths: they cannot be made
again from what lies in IPFS, so they belong into every backup.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Row, Table, delete, insert, select
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.tables import held_files, named_files, released_files, stored_datasets, stored_places, stored_refs
from opendatafabric.block_ref import check_block_ref
from opendatafabric.errors import Conflict, DatasetNotFound, ObjectNotFound
from opendatafabric.ipfs.cid import Cid
from opendatafabric.multihash import Multihash
from storage.ipfs.table import HeldFile, NamedFile
from storage.keys import is_addressed
from storage.ref_text import ref_conflict
from storage.values import WriteMode

_ROWS_AT_ONCE: Final = 500


class PlaceFiles:
    """A FileTable: the rows of one place."""

    def __init__(self, database: Database, now: Callable[[], float], place: str) -> None:
        self._database = database
        self._now = now
        self._place = place

    async def find(self, key: str) -> NamedFile | None:
        """As in the protocol."""
        async with self._database.reading() as connection:
            query = select(named_files).where(self._is_here, named_files.c.key == key)
            row = (await connection.execute(query)).first()
        return None if row is None else _file(row)

    async def list(self, prefix: str) -> Sequence[NamedFile]:
        """As in the protocol."""
        table = named_files.c
        query = select(named_files).where(table.place == self._place, table.key.startswith(prefix, autoescape=True))
        async with self._database.reading() as connection:
            return [_file(row) for row in await connection.execute(query.order_by(table.key))]

    async def hold(self, files: Sequence[HeldFile]) -> None:
        """As in the protocol."""
        now = self._now()
        rows = [
            {"token": file.token, "cid": bytes(file.cid), "size": file.size, "held_at": now, "place": self._place}
            for file in files
        ]
        async with self._database.writing() as connection:
            await connection.execute(insert(held_files), rows)

    async def name(self, tokens: Sequence[tuple[str, str]], mode: WriteMode) -> Sequence[Cid]:
        """As in the protocol."""
        async with self._database.writing() as connection:
            held = await _by(connection, held_files, held_files.c.token, [token for _, token in tokens])
            known = await _by(connection, named_files, named_files.c.key, [key for key, _ in tokens], self._is_here)
            rows = {key: self._row(key, held.get(token), token) for key, token in tokens}
            if mode is WriteMode.CREATE and known:
                raise Conflict(f"{', '.join(known)} exists already")
            if mode is WriteMode.KEEP:
                rows = {key: row for key, row in rows.items() if key not in known or is_addressed(key)}
            await _forget(connection, held_files.c.token, list(held))
            if rows:
                statement = upsert(named_files)
                changed = {name: statement.excluded[name] for name in ("cid", "size", "modified_at")}
                kept = statement.on_conflict_do_update(index_elements=["place", "key"], set_=changed)
                await connection.execute(kept, list(rows.values()))
            return await release(connection, {row.cid for row in (*held.values(), *known.values())})

    async def let_go(self, token: str) -> Sequence[Cid]:
        """As in the protocol."""
        gone = delete(held_files).where(held_files.c.token == token).returning(held_files.c.cid)
        async with self._database.writing() as connection:
            return await release(connection, set((await connection.execute(gone)).scalars()))

    async def held_before(self, moment: float) -> Sequence[tuple[str, int, float]]:
        """As in the protocol."""
        table = held_files.c
        query = select(table.token, table.size, table.held_at).where(table.place == self._place, table.held_at < moment)
        async with self._database.reading() as connection:
            return [(row.token, row.size, row.held_at) for row in await connection.execute(query)]

    async def remove(self, key: str) -> Sequence[Cid]:
        """As in the protocol."""
        table = named_files.c
        gone = delete(named_files).where(table.place == self._place, table.key == key).returning(table.cid)
        async with self._database.writing() as connection:
            return await release(connection, set((await connection.execute(gone)).scalars()))

    async def released(self) -> Sequence[Cid]:
        """As in the protocol."""
        async with self._database.reading() as connection:
            waiting = set((await connection.execute(select(released_files.c.cid))).scalars())
            return [Cid.from_bytes(cid) for cid in waiting - await _needed(connection, waiting)]

    async def unpinned(self, cids: Collection[Cid]) -> set[Cid]:
        """As in the protocol."""
        done = [bytes(cid) for cid in cids]
        async with self._database.writing() as connection:
            await _forget(connection, released_files.c.cid, done)
            return {Cid.from_bytes(cid) for cid in await _needed(connection, set(done))}

    @property
    def _is_here(self) -> ColumnElement[bool]:
        return named_files.c.place == self._place

    def _row(self, key: str, held: Row[Any] | None, token: str) -> dict[str, Any]:
        if held is None:
            raise ObjectNotFound(f"nothing is quarantined as {token!r}", hint="upload the object again")
        return {"place": self._place, "key": key, "cid": held.cid, "size": held.size, "modified_at": self._now()}


class PlaceRefs:
    """A RefStore: the refs of one place. Compared and swapped in one transaction that holds the write lock."""

    def __init__(self, database: Database, place: str) -> None:
        self._database = database
        self._place = place

    async def read(self, name: str) -> Multihash | None:
        """As in the protocol."""
        check_block_ref(name)
        async with self._database.reading() as connection:
            return await self._read(connection, name)

    async def compare_and_swap(self, name: str, *, expected: Multihash | None, new: Multihash | None) -> None:
        """As in the protocol."""
        check_block_ref(name)
        table = stored_refs.c
        async with self._database.writing() as connection:
            await self._require_dataset(connection)
            actual = await self._read(connection, name)
            if actual != expected:
                raise ref_conflict(name, expected, actual)
            await connection.execute(delete(stored_refs).where(table.place == self._place, table.name == name))
            if new is not None:
                row = {"place": self._place, "name": name, "head": str(new)}
                await connection.execute(insert(stored_refs).values(row))

    async def list(self) -> dict[str, Multihash]:
        """As in the protocol."""
        query = select(stored_refs.c.name, stored_refs.c.head).where(stored_refs.c.place == self._place)
        async with self._database.reading() as connection:
            return {row.name: Multihash.from_text(row.head) for row in await connection.execute(query)}

    async def _require_dataset(self, connection: AsyncConnection) -> None:
        # In a repository a dataset may have been deleted meanwhile: a head that came back would be one without blocks.
        repository, _, name = self._place.rpartition("/")
        if (await connection.execute(select(stored_places).where(stored_places.c.place == repository))).first() is None:
            return
        there = select(stored_datasets).where(stored_datasets.c.place == repository, stored_datasets.c.id == name)
        if (await connection.execute(there)).first() is None:
            raise DatasetNotFound("the dataset was deleted meanwhile", found=name)

    async def _read(self, connection: AsyncConnection, name: str) -> Multihash | None:
        table = stored_refs.c
        query = select(table.head).where(table.place == self._place, table.name == name)
        head = (await connection.execute(query)).scalar()
        return None if head is None else Multihash.from_text(head)


async def release(connection: AsyncConnection, cids: set[bytes]) -> list[Cid]:
    """Those that nobody needs any more, noted as to be unpinned."""
    gone = cids - await _needed(connection, cids)
    if gone:
        noted = upsert(released_files).on_conflict_do_nothing()
        await connection.execute(noted, [{"cid": cid} for cid in gone])
    return [Cid.from_bytes(cid) for cid in gone]


async def _needed(connection: AsyncConnection, cids: set[bytes]) -> set[bytes]:
    ordered = list(cids)
    named = await _by(connection, named_files, named_files.c.cid, ordered)
    return named.keys() | (await _by(connection, held_files, held_files.c.cid, ordered)).keys()


async def _by(
    connection: AsyncConnection, table: Table, column: Column[Any], values: list[Any], *conditions: ColumnElement[bool]
) -> dict[Any, Row[Any]]:
    """The rows whose ``column`` is one of ``values``, by that."""
    found: dict[Any, Row[Any]] = {}
    for some in _batches(values):
        rows = await connection.execute(select(table).where(column.in_(some), *conditions))
        found |= {getattr(row, column.name): row for row in rows}
    return found


async def _forget(connection: AsyncConnection, column: Column[Any], values: list[Any]) -> None:
    for some in _batches(values):
        await connection.execute(delete(column.table).where(column.in_(some)))


def _batches(values: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(values), _ROWS_AT_ONCE):
        yield values[start : start + _ROWS_AT_ONCE]


def _file(row: Row[Any]) -> NamedFile:
    return NamedFile(row.key, Cid.from_bytes(row.cid), row.size, row.modified_at)
