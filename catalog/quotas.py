"""How much accounts and datasets have, and may have: what lies in the repository, and what is about to come.

What is taken is counted per dataset, and belongs to whoever owns that: deduplicated objects count for each dataset that
has them. Before something comes it is reserved, under a lease; when it is there, the reservation becomes usage, in one
transaction. So what is taken and reserved is never less than what is stored. A reservation whose holder is gone goes
on counting until its dataset was measured: nobody knows how much of it came. Measuring counts only if nothing was
added meanwhile (``version``); ``dirty`` says that a dataset may have less than is said here, and wants to be measured.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Select, and_, case, delete, exists, func, insert, or_, select, update
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.amounts import Amounts, Limits, Quota, check_room
from catalog.engine import Database
from catalog.quota_tables import quotas, reservations, reserved_objects, usage
from catalog.tables import datasets
from opendatafabric.did import AccountId, DatasetId

OVER: Final = 0.0
"""``until`` of a reservation whose holder let it go without an end."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to come to a dataset of ``owner``: ``objects`` by key with their sizes, and ``block_bytes``."""

    dataset_id: DatasetId
    owner: AccountId
    objects: Mapping[str, int] = field(default_factory=dict)
    block_bytes: int = 0

    @property
    def amounts(self) -> Amounts:
        return Amounts(sum(self.objects.values()) + self.block_bytes, len(self.objects))


@dataclass(frozen=True, slots=True)
class Measuring:
    """What has to be known before a dataset is measured, to keep what was found."""

    dataset_id: DatasetId
    version: int
    over: Sequence[str]


class Quotas:
    """The quotas and the usage of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    # --- what may be

    async def set(self, subject: AccountId | DatasetId, quota: Quota) -> None:
        """Let an account or a dataset have so much; what is ``None`` is as the node says."""
        row = {"subject": str(subject), **quota.as_dict()}
        statement = upsert(quotas).values(row)
        async with self._database.writing() as connection:
            await connection.execute(statement.on_conflict_do_update(index_elements=["subject"], set_=quota.as_dict()))

    async def find(self, subject: AccountId | DatasetId) -> Quota:
        """What was set for it."""
        async with self._database.reading() as connection:
            return await _quota(connection, subject)

    # --- what is

    async def of_account(self, account_id: AccountId) -> Amounts:
        """What the datasets of an account take, with what is about to come to them."""
        async with self._database.reading() as connection:
            return await _taken_by_account(connection, account_id)

    async def of_dataset(self, dataset_id: DatasetId) -> Amounts:
        """What a dataset takes, with what is about to come to it."""
        async with self._database.reading() as connection:
            return await _taken_by_dataset(connection, dataset_id)

    async def check_new_dataset(self, owner: AccountId, limits: Limits) -> None:
        """Go on if the account may have one dataset more; ``QuotaExceeded`` if not."""
        async with self._database.reading() as connection:
            quota = (await _quota(connection, owner)).or_else(limits.account)
            check_room("the account", quota, await _taken_by_account(connection, owner), Amounts(datasets=1))

    # --- what comes

    async def check_room(self, dataset_id: DatasetId, owner: AccountId, limits: Limits) -> None:
        """Go on if anything at all may come to the dataset; ``QuotaExceeded`` if not."""
        async with self._database.reading() as connection:
            await _check_room(connection, dataset_id, owner, limits, Amounts(bytes=1, objects=1))

    async def reserve(self, wish: Wish, limits: Limits, *, lease_s: float, reservation_id: str | None = None) -> str:
        """Keep room for what is to come; the id of the reservation.

        Raises:
            QuotaExceeded: the account or the dataset may not have so much.
        """
        reservation_id, wanted = reservation_id or secrets.token_hex(16), wish.amounts
        async with self._database.writing() as connection:
            await _check_room(connection, wish.dataset_id, wish.owner, limits, wanted)
            row = {
                "id": reservation_id,
                "dataset_id": str(wish.dataset_id),
                "account_id": str(wish.owner),
                "bytes": wanted.bytes,
                "objects": wanted.objects,
                "version": await _version(connection, wish.dataset_id),
                "until": self._now() + lease_s,
            }
            await connection.execute(insert(reservations).values(row))
            rows = [{"reservation_id": reservation_id, "key": key, "size": size} for key, size in wish.objects.items()]
            if rows:
                await connection.execute(insert(reserved_objects), rows)
        return reservation_id

    async def renew(self, reservation_id: str, *, lease_s: float) -> None:
        """Its holder lives."""
        held = update(reservations).where(reservations.c.id == reservation_id, reservations.c.until > OVER)
        async with self._database.writing() as connection:
            await connection.execute(held.values(until=self._now() + lease_s))

    async def has_room_for(self, dataset_id: DatasetId, key: str, size: int) -> bool:
        """Whether room is kept for that object."""
        kept = select(reserved_objects.c.key).join(reservations, reservations.c.id == reserved_objects.c.reservation_id)
        here = (reservations.c.dataset_id == str(dataset_id), reservations.c.until > self._now())
        found = kept.where(*here, reserved_objects.c.key == key, reserved_objects.c.size >= size).limit(1)
        async with self._database.reading() as connection:
            return (await connection.execute(found)).first() is not None

    async def settle(self, reservation_id: str, dataset_id: DatasetId) -> None:
        """All that it was for has come to the dataset. If it was over long ago, that has to be measured."""
        async with self._database.writing() as connection:
            row = (await connection.execute(select(reservations).where(reservations.c.id == reservation_id))).first()
            if row is None:
                await _add(connection, str(dataset_id), Amounts(), dirty=True)
                return
            changed = await _version_of(connection, row.dataset_id) != row.version
            await _add(connection, row.dataset_id, Amounts(row.bytes, row.objects), dirty=changed)
            await connection.execute(delete(reservations).where(reservations.c.id == reservation_id))

    async def give_back(self, reservation_id: str) -> None:
        """Nothing of it has come."""
        async with self._database.writing() as connection:
            await connection.execute(delete(reservations).where(reservations.c.id == reservation_id))

    async def let_go(self, reservation_id: str) -> None:
        """Some of it may have come: it counts until its dataset is measured."""
        held = update(reservations).where(reservations.c.id == reservation_id)
        async with self._database.writing() as connection:
            await connection.execute(held.values(until=OVER))

    async def add(self, dataset_id: DatasetId, amounts: Amounts, *, dirty: bool = False) -> None:
        """So much has come to a dataset without a reservation."""
        async with self._database.writing() as connection:
            await _add(connection, str(dataset_id), amounts, dirty=dirty)

    # --- what is measured

    async def to_measure(self) -> list[DatasetId]:
        """Datasets whose numbers are not sure, or not there at all."""
        over = exists().where(reservations.c.dataset_id == datasets.c.id, reservations.c.until <= self._now())
        known = datasets.outerjoin(usage, usage.c.dataset_id == datasets.c.id)
        unsure = or_(usage.c.dataset_id.is_(None), usage.c.dirty == 1, over)
        query = select(datasets.c.id).select_from(known).where(unsure).order_by(datasets.c.id)
        async with self._database.reading() as connection:
            return [DatasetId.from_text(each) for each in (await connection.execute(query)).scalars()]

    async def begin_measuring(self, dataset_id: DatasetId) -> Measuring:
        """To be asked before the store is."""
        over = select(reservations.c.id).where(
            reservations.c.dataset_id == str(dataset_id), reservations.c.until <= self._now()
        )
        async with self._database.reading() as connection:
            ids = list((await connection.execute(over)).scalars())
            return Measuring(dataset_id, await _version(connection, dataset_id), ids)

    async def measured(self, measuring: Measuring, found: Amounts) -> bool:
        """Keep what the store holds, unless something was added meanwhile; whether it was kept."""
        name = str(measuring.dataset_id)
        async with self._database.writing() as connection:
            if await _version(connection, measuring.dataset_id) != measuring.version:
                return False
            row = {"dataset_id": name, "bytes": found.bytes, "objects": found.objects, "dirty": 0}
            await connection.execute(delete(usage).where(usage.c.dataset_id == name))
            await connection.execute(insert(usage).values(row | {"version": measuring.version + 1}))
            await connection.execute(delete(reservations).where(reservations.c.id.in_(measuring.over)))
        return True

    async def doubt_all(self) -> None:
        """Every dataset may have less than is said."""
        async with self._database.writing() as connection:
            await connection.execute(update(usage).values(dirty=1))

    async def forget_gone(self) -> None:
        """Forget what is said of datasets that are no more."""
        async with self._database.writing() as connection:
            for table in (usage, reservations):
                gone = ~exists().where(datasets.c.id == table.c.dataset_id)
                old = gone if table is usage else and_(gone, table.c.until <= self._now())
                await connection.execute(delete(table).where(old))


async def _quota(connection: AsyncConnection, subject: AccountId | DatasetId) -> Quota:
    row = (await connection.execute(select(quotas).where(quotas.c.subject == str(subject)))).first()
    return Quota() if row is None else Quota(row.bytes, row.objects, row.datasets)


async def _check_room(
    connection: AsyncConnection, dataset_id: DatasetId, owner: AccountId, limits: Limits, wanted: Amounts
) -> None:
    of_dataset = (await _quota(connection, dataset_id)).or_else(limits.dataset)
    check_room("the dataset", of_dataset, await _taken_by_dataset(connection, dataset_id), wanted)
    of_account = (await _quota(connection, owner)).or_else(limits.account)
    check_room("the account", of_account, await _taken_by_account(connection, owner), wanted)


async def _taken_by_account(connection: AsyncConnection, account_id: AccountId) -> Amounts:
    owned = select(datasets.c.id).where(datasets.c.owner_id == str(account_id))
    count = (await connection.execute(select(func.count()).select_from(owned.subquery()))).scalar_one()
    taken = await _sum(connection, _sums(usage).where(usage.c.dataset_id.in_(owned)))
    coming = await _sum(connection, _sums(reservations).where(reservations.c.account_id == str(account_id)))
    return taken + coming + Amounts(datasets=count)


async def _taken_by_dataset(connection: AsyncConnection, dataset_id: DatasetId) -> Amounts:
    taken = await _sum(connection, _sums(usage).where(usage.c.dataset_id == str(dataset_id)))
    return taken + await _sum(connection, _sums(reservations).where(reservations.c.dataset_id == str(dataset_id)))


def _sums(table: Any) -> Select[Any]:
    return select(func.coalesce(func.sum(table.c.bytes), 0), func.coalesce(func.sum(table.c.objects), 0))


async def _sum(connection: AsyncConnection, query: Select[Any]) -> Amounts:
    row = (await connection.execute(query)).one()
    return Amounts(int(row[0]), int(row[1]))


async def _version(connection: AsyncConnection, dataset_id: DatasetId) -> int:
    return await _version_of(connection, str(dataset_id))


async def _version_of(connection: AsyncConnection, name: str) -> int:
    found = (await connection.execute(select(usage.c.version).where(usage.c.dataset_id == name))).scalar()
    return 0 if found is None else int(found)


async def _add(connection: AsyncConnection, name: str, amounts: Amounts, *, dirty: bool) -> None:
    row = {"dataset_id": name, "bytes": amounts.bytes, "objects": amounts.objects, "dirty": int(dirty), "version": 1}
    added = {
        "bytes": usage.c.bytes + amounts.bytes,
        "objects": usage.c.objects + amounts.objects,
        "dirty": case((usage.c.dirty == 1, 1), else_=int(dirty)),
        "version": usage.c.version + 1,
    }
    statement = upsert(usage).values(row)
    await connection.execute(statement.on_conflict_do_update(index_elements=["dataset_id"], set_=added))
