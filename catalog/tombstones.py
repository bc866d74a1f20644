"""What became of datasets that do not lie any more where they did: deleted, renamed, given away; by whom and when.

A tombstone is written before anything else happens and *settled* when all has: whoever finds one that is not brings it
to its end. Until ``reserved_until`` the old name belongs to its former owner; a dataset that lies there goes before
any tombstone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, insert, select, update

from catalog.datasets import DatasetRecord
from catalog.engine import Database
from catalog.lifecycle_tables import tombstones
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import Conflict


class Fate(StrEnum):
    """What happened to a dataset under its name."""

    DELETED = "deleted"
    RENAMED = "renamed"
    TRANSFERRED = "transferred"


@dataclass(frozen=True, slots=True)
class Tombstone:
    """``owner_id`` owned it then, ``account_id`` did it; a deleted dataset is kept until ``kept_until``, if at all."""

    id: int
    fate: Fate
    dataset_id: DatasetId
    alias: DatasetAlias
    owner_id: AccountId
    new_alias: DatasetAlias | None
    account_id: AccountId | None
    at: float
    reserved_until: float
    kept_until: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """What is about to be done to the dataset of ``record``, by an account or by the operator."""

    fate: Fate
    record: DatasetRecord
    by: AccountId | None
    reserved_s: float
    new_alias: DatasetAlias | None = None
    kept_s: float | None = None


class Tombstones:
    """The tombstones of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def begin(self, change: Change) -> Tombstone:
        """Write down what is about to be done.

        Raises:
            Conflict: something is being done to the dataset already.
        """
        row = _row(change, self._now())
        busy = (tombstones.c.dataset_id == row["dataset_id"]) & (tombstones.c.settled == 0)
        async with self._database.writing() as connection:
            if (await connection.execute(select(tombstones.c.id).where(busy))).first() is not None:
                raise Conflict(f"{change.record.alias} is being changed by somebody else", hint="try again in a minute")
            inserted = (await connection.execute(insert(tombstones).values(row))).inserted_primary_key
        assert inserted is not None
        return _tombstone_of({**row, "id": inserted[0]})

    async def settle(self, stone: Tombstone) -> None:
        """It was done."""
        await self._change(stone, settled=1)

    async def withdraw(self, stone: Tombstone) -> None:
        """It was not done, or taken back."""
        async with self._database.writing() as connection:
            await connection.execute(delete(tombstones).where(tombstones.c.id == stone.id))

    async def keep_no_longer(self, stone: Tombstone) -> None:
        """What was deleted is gone for good."""
        await self._change(stone, kept_until=None, settled=1)

    async def unsettled(self, *, before: float) -> list[Tombstone]:
        """What was begun before that time and has not come to its end."""
        return await self._list((tombstones.c.settled == 0) & (tombstones.c.at <= before))

    async def of_name(self, alias: DatasetAlias) -> Tombstone | None:
        """What became last of the dataset that had this name."""
        return _first(await self._list(_named(alias)))

    async def of_deleted(self, dataset_id: DatasetId) -> Tombstone | None:
        """The tombstone of a dataset that is deleted and still kept."""
        return _first(await self._list(_IS_KEPT & (tombstones.c.dataset_id == str(dataset_id))))

    async def kept(self, *, until: float | None = None) -> list[Tombstone]:
        """Datasets that are deleted and still kept, or those of them whose time is over by then."""
        over = _IS_KEPT if until is None else _IS_KEPT & (tombstones.c.kept_until <= until)
        return await self._list(over)

    async def reserved_for(self, alias: DatasetAlias) -> AccountId | None:
        """Who alone may give that name to a dataset now; ``None`` when anybody may."""
        found = _first(await self._list(_named(alias) & (tombstones.c.reserved_until > self._now())))
        return None if found is None else found.owner_id

    async def forget_old(self) -> None:
        """Forget those whose name is free again, and of which nothing is kept."""
        table = tombstones.c
        old = (table.reserved_until <= self._now()) & table.kept_until.is_(None) & (table.settled == 1)
        async with self._database.writing() as connection:
            await connection.execute(delete(tombstones).where(old))

    async def _list(self, condition: ColumnElement[bool]) -> list[Tombstone]:
        query = select(tombstones).where(condition).order_by(tombstones.c.id.desc())
        async with self._database.reading() as connection:
            return [_tombstone(row) for row in await connection.execute(query)]

    async def _change(self, stone: Tombstone, **values: Any) -> None:
        async with self._database.writing() as connection:
            await connection.execute(update(tombstones).where(tombstones.c.id == stone.id).values(values))


_IS_KEPT = tombstones.c.kept_until.is_not(None)


def _named(alias: DatasetAlias) -> ColumnElement[bool]:
    return tombstones.c.alias_folded == str(alias).lower()


def _first(found: Sequence[Tombstone]) -> Tombstone | None:
    return next(iter(found), None)


def _row(change: Change, now: float) -> dict[str, Any]:
    return {
        "kind": change.fate.value,
        "dataset_id": str(change.record.id),
        "alias": str(change.record.alias),
        "alias_folded": str(change.record.alias).lower(),
        "owner_id": str(change.record.owner_id),
        "new_alias": None if change.new_alias is None else str(change.new_alias),
        "account_id": None if change.by is None else str(change.by),
        "at": now,
        "reserved_until": now + change.reserved_s,
        "kept_until": None if change.kept_s is None else now + change.kept_s,
        "settled": 0,
    }


def _tombstone(row: Row[Any]) -> Tombstone:
    return _tombstone_of(row._asdict())


def _tombstone_of(row: dict[str, Any]) -> Tombstone:
    return Tombstone(
        id=row["id"],
        fate=Fate(row["kind"]),
        dataset_id=DatasetId.from_text(row["dataset_id"]),
        alias=DatasetAlias.from_text(row["alias"]),
        owner_id=AccountId.from_text(row["owner_id"]),
        new_alias=None if row["new_alias"] is None else DatasetAlias.from_text(row["new_alias"]),
        account_id=None if row["account_id"] is None else AccountId.from_text(row["account_id"]),
        at=row["at"],
        reserved_until=row["reserved_until"],
        kept_until=row["kept_until"],
    )
