"""Datasets that anybody may find, as catalogues elsewhere are told of them: in the order of their ids, so that a walk
over all of them misses none that stays, however long it takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Column, Row, Select, and_, func, select

from catalog.dataset_facts import block_of_row, facts_of_row
from catalog.engine import Database
from catalog.facts_of_blocks import BlockFacts, Facts
from catalog.facts_tables import dataset_blocks, dataset_facts
from catalog.list_permissions import may_list
from catalog.tables import accounts, datasets
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.multihash import Hasher

ROWS_AT_ONCE: Final = 500
"""So many datasets are in memory at once, whoever walks over all of them."""

_SMALL_ROWS_AT_ONCE: Final = 5_000


@dataclass(frozen=True, slots=True)
class PublicDataset:
    """A dataset; ``owner`` is the name of an account, ``issued_at`` the time of its first block."""

    id: DatasetId
    alias: DatasetAlias
    owner: str
    issued_at: float | None
    facts: Facts


@dataclass(frozen=True, slots=True)
class PublicPlace:
    """Where a dataset is to be found, and since when it is as it is."""

    id: DatasetId
    alias: DatasetAlias
    updated_at: float


@dataclass(frozen=True, slots=True)
class PublicTotals:
    """How many datasets there are, and when the last of them changed."""

    count: int
    updated_at: float | None


class PublicDatasets:
    """Those of one catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen: Hashable | None = None
        self._version = ""

    async def find(self, dataset_id: DatasetId) -> PublicDataset | None:
        """The dataset, if it is one of them."""
        rows = await self._rows(_described().where(datasets.c.id == str(dataset_id)))
        return next(map(_dataset, rows), None)

    async def after(self, dataset_id: str, *, count: int) -> Sequence[PublicDataset]:
        """The first ``count`` of those with greater ids."""
        query = _described().where(datasets.c.id > dataset_id).order_by(datasets.c.id).limit(count)
        return [_dataset(row) for row in await self._rows(query)]

    async def places(self, *, skip: int, count: int) -> AsyncIterator[Sequence[PublicPlace]]:
        """Batch by batch ``count`` of them, without the first ``skip``."""
        columns = (datasets.c.id, datasets.c.alias, dataset_facts.c.updated_at)
        async for rows in self._batches(columns, after=await self._id_at(skip), count=count):
            yield [_place(row) for row in rows]

    async def totals(self) -> PublicTotals:
        """Of all of them."""
        rows = await self._rows(_of(func.count(), func.max(dataset_facts.c.updated_at)))
        count, updated_at = tuple(rows[0])
        return PublicTotals(count, updated_at)

    async def version(self) -> str:
        """What differs whenever something else is told of them."""
        seen = self._database.version()
        if seen is None or seen != self._seen:
            self._version, self._seen = await self._computed_version(), seen
        return self._version

    async def _computed_version(self) -> str:
        hasher = Hasher()
        columns = (datasets.c.id, datasets.c.alias, accounts.c.name, dataset_facts.c.head)
        async for rows in self._batches(columns, after=""):
            await asyncio.to_thread(lambda told: hasher.update("\n".join(map("\t".join, told)).encode()), rows)
        return str(hasher.finish())

    async def only_data(self, dataset: PublicDataset) -> BlockFacts | None:
        """The block that brought all records, if one did."""
        here, facts = dataset_blocks.c, dataset.facts
        query = select(dataset_blocks).where(here.dataset_id == str(dataset.id), here.bytes > 0)
        first = next(map(block_of_row, await self._rows(query.order_by(here.sequence_number).limit(1))), None)
        is_all = first is not None and (first.records, first.bytes) == (facts.records, facts.bytes)
        return first if is_all else None

    async def _id_at(self, position: int) -> str:
        """Of the last one of the first ``position``."""
        if not position:
            return ""
        rows = await self._rows(_of(datasets.c.id).order_by(datasets.c.id).offset(position - 1).limit(1))
        return str(rows[0][0]) if rows else "~"

    async def _batches(
        self, columns: Sequence[Column[Any]], *, after: str, count: int | None = None
    ) -> AsyncIterator[Sequence[Row[Any]]]:
        """Those columns of ``count`` datasets with ids greater than ``after``; the first column is the id."""
        while count is None or count > 0:
            most = _SMALL_ROWS_AT_ONCE if count is None else min(count, _SMALL_ROWS_AT_ONCE)
            rows = await self._rows(_of(*columns).where(datasets.c.id > after).order_by(datasets.c.id).limit(most))
            if not rows:
                return
            yield rows
            after, count = rows[-1][0], None if count is None else count - len(rows)

    async def _rows(self, query: Select[Any]) -> Sequence[Row[Any]]:
        async with self._database.reading() as connection:
            rows: Sequence[Row[Any]] = (await connection.execute(query)).all()
        return rows


def _described() -> Select[Any]:
    first = and_(dataset_blocks.c.dataset_id == datasets.c.id, dataset_blocks.c.sequence_number == 0)
    issued_at = select(dataset_blocks.c.system_time).where(first).scalar_subquery().label("issued_at")
    return _of(datasets.c.id, datasets.c.alias, accounts.c.name.label("owner"), issued_at, *dataset_facts.c)


def _of(*columns: Any) -> Select[Any]:
    of_both = dataset_facts.c.dataset_id == datasets.c.id
    tables = datasets.join(dataset_facts, of_both).join(accounts, accounts.c.id == datasets.c.owner_id)
    return select(*columns).select_from(tables).where(may_list(None))


def _dataset(row: Row[Any]) -> PublicDataset:
    alias = DatasetAlias.from_text(row.alias)
    return PublicDataset(DatasetId.from_text(row.id), alias, row.owner, row.issued_at, facts_of_row(row))


def _place(row: Row[Any]) -> PublicPlace:
    return PublicPlace(DatasetId.from_text(row.id), DatasetAlias.from_text(row.alias), row.updated_at)
