"""An index of the datasets that are hosted: whose they are, who may see them. The bytes decide what exists.

Names and ids are repeated from the repository's folders and can be rebuilt from there; owner and visibility are known
here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.accounts import Account
from catalog.dataset_facts import forget_facts, has_facts
from catalog.dataset_texts import put_names
from catalog.engine import Database
from catalog.events import EventType, Happening, note_event, note_events
from catalog.tables import datasets, reflog
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.multihash import Multihash
from opendatafabric.names import AccountName


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """What the catalog knows of a dataset."""

    id: DatasetId
    alias: DatasetAlias
    owner_id: AccountId
    visibility: Visibility


@dataclass(frozen=True, slots=True)
class HeadMove:
    """One line of the reflog; ``at`` in seconds since 1970."""

    at: float
    account_id: str | None
    expected_head: str | None
    new_head: str | None


class Datasets:
    """The datasets of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def find(self, dataset_id: DatasetId) -> DatasetRecord | None:
        """What is known of the dataset."""
        async with self._database.reading() as connection:
            row = (await connection.execute(select(datasets).where(datasets.c.id == str(dataset_id)))).first()
        return None if row is None else _record(row)

    async def put(self, record: DatasetRecord) -> None:
        """Know a dataset; owner and visibility of one that is known stay."""
        await self.put_all([record])

    async def put_all(self, records: Sequence[DatasetRecord]) -> None:
        """The same of many, in one transaction."""
        rows = [_row(record, self._now()) for record in records]
        added = upsert(datasets)
        kept = {name: added.excluded[name] for name in ("alias", "alias_folded")}
        these = select(datasets.c.id, datasets.c.alias).where(datasets.c.id.in_([row["id"] for row in rows]))
        async with self._database.writing() as connection:
            before = {row.id: row.alias for row in await connection.execute(these)}
            if rows:
                await connection.execute(added.on_conflict_do_update(index_elements=["id"], set_=kept), rows)
            await put_names(connection, {row["id"]: row["alias"] for row in rows})
            renamed = [row["id"] for row in rows if before.get(row["id"], row["alias"]) != row["alias"]]
            told = [Happening(EventType.RENAMED, each, {"previousAlias": before[each]}) for each in renamed]
            await note_events(connection, self._now(), told)

    async def set_visibility(self, dataset_id: DatasetId, visibility: Visibility) -> None:
        """Say who may read a dataset without a role."""
        async with self._database.writing() as connection:
            changed = update(datasets).where(
                datasets.c.id == str(dataset_id), datasets.c.visibility != visibility.value
            )
            if (await connection.execute(changed.values(visibility=visibility.value))).rowcount:
                details = {"visibility": visibility.value}
                await note_event(connection, self._now(), EventType.VISIBILITY_CHANGED, str(dataset_id), details)

    async def set_owner(self, dataset_id: DatasetId, owner: Account) -> None:
        """Give a dataset to another account."""
        await self._change(dataset_id, owner_id=str(owner.id))

    async def forget(self, dataset_id: DatasetId) -> None:
        """Know a dataset no longer."""
        async with self._database.writing() as connection:
            await _forget(connection, str(dataset_id), self._now())

    async def below(self, account: AccountName, owner_id: AccountId) -> list[DatasetRecord]:
        """Datasets of an owner whose names begin with that account, by name."""
        is_below = datasets.c.alias_folded.startswith(f"{account.folded}/", autoescape=True)
        query = select(datasets).where(is_below, datasets.c.owner_id == str(owner_id)).order_by(datasets.c.alias_folded)
        async with self._database.reading() as connection:
            return [_record(row) for row in await connection.execute(query)]

    async def aliases(self) -> dict[DatasetId, DatasetAlias]:
        """Every dataset that is known, and what it is called."""
        async with self._database.reading() as connection:
            rows = await connection.execute(select(datasets.c.id, datasets.c.alias))
            return {DatasetId.from_text(row.id): DatasetAlias.from_text(row.alias) for row in rows}

    async def log_move(
        self,
        dataset_id: DatasetId,
        account: Account | None,
        *,
        expected_head: Multihash | None,
        new_head: Multihash | None,
    ) -> None:
        """Note that a head moved."""
        row = {
            "dataset_id": str(dataset_id),
            "at": self._now(),
            "account_id": None if account is None else str(account.id),
            "expected_head": None if expected_head is None else str(expected_head),
            "new_head": None if new_head is None else str(new_head),
        }
        async with self._database.writing() as connection:
            await connection.execute(insert(reflog).values(row))

    async def moves(self, dataset_id: DatasetId) -> list[HeadMove]:
        """How the head of a dataset moved, newest first."""
        query = select(reflog).where(reflog.c.dataset_id == str(dataset_id)).order_by(reflog.c.id.desc())
        async with self._database.reading() as connection:
            rows = await connection.execute(query)
            return [HeadMove(row.at, row.account_id, row.expected_head, row.new_head) for row in rows]

    async def last_move(self) -> int:
        """The number of the last move."""
        async with self._database.reading() as connection:
            return (await connection.execute(select(func.max(reflog.c.id)))).scalar() or 0

    async def moved_since(self, move: int) -> tuple[int, list[DatasetId]]:
        """The number of the last move, and the datasets that moved after that of number ``move``."""
        query = select(reflog.c.id, reflog.c.dataset_id).where(reflog.c.id > move).order_by(reflog.c.id)
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
        moved = [DatasetId.from_text(each) for each in dict.fromkeys(row.dataset_id for row in rows)]
        return (rows[-1].id if rows else move), moved

    async def heads_until(self, dataset_id: DatasetId, *, since: float) -> list[Multihash]:
        """Heads that the dataset had until some time after ``since`` (seconds since 1970), and the last that is known:
        another may stand there that nobody wrote down."""
        here = reflog.c.dataset_id == str(dataset_id)
        moved = select(reflog.c.expected_head).where(here, reflog.c.at > since, reflog.c.expected_head.is_not(None))
        last = select(reflog.c.new_head).where(here).order_by(reflog.c.id.desc()).limit(1)
        async with self._database.reading() as connection:
            found = [*(await connection.execute(moved)).scalars(), *(await connection.execute(last)).scalars()]
        return [Multihash.from_text(head) for head in dict.fromkeys(found) if head is not None]

    async def _change(self, dataset_id: DatasetId, **values: str) -> None:
        async with self._database.writing() as connection:
            await connection.execute(update(datasets).where(datasets.c.id == str(dataset_id)).values(values))


async def _forget(connection: AsyncConnection, dataset_id: str, at: float) -> None:
    if await has_facts(connection, dataset_id):
        await note_event(connection, at, EventType.GONE, dataset_id, {})
    await connection.execute(delete(datasets).where(datasets.c.id == dataset_id))
    await forget_facts(connection, dataset_id)


def _row(record: DatasetRecord, at: float) -> dict[str, Any]:
    return {
        "id": str(record.id),
        "alias": str(record.alias),
        "alias_folded": str(record.alias).lower(),
        "owner_id": str(record.owner_id),
        "visibility": record.visibility.value,
        "created_at": at,
    }


def _record(row: Row[Any]) -> DatasetRecord:
    return DatasetRecord(
        DatasetId.from_text(row.id),
        DatasetAlias.from_text(row.alias),
        AccountId.from_text(row.owner_id),
        Visibility(row.visibility),
    )
