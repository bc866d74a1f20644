"""Names that accounts had: kept for them a while, since addresses with them still go round. Nobody else is called so
meanwhile, or would be taken for them.

A name that was given up is written down together with the change, and *settled* once no dataset lies below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.lifecycle_tables import former_account_names as table
from opendatafabric.did import AccountId
from opendatafabric.errors import NameCollision
from opendatafabric.names import AccountName


@dataclass(frozen=True, slots=True)
class FormerName:
    """``name`` was that of the account until ``by`` changed it, the operator where that is ``None``."""

    id: int
    name: AccountName
    account_id: AccountId
    by: AccountId | None


class FormerAccountNames:
    """Those of one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database, self._now = database, now

    async def unsettled(self) -> list[FormerName]:
        """Names below which datasets may still lie, oldest first."""
        async with self._database.reading() as connection:
            rows = await connection.execute(select(table).where(table.c.settled == 0).order_by(table.c.id))
            return [
                FormerName(
                    row.id,
                    AccountName(row.name),
                    AccountId.from_text(row.account_id),
                    None if row.changed_by is None else AccountId.from_text(row.changed_by),
                )
                for row in rows
            ]

    async def settle(self, former: FormerName) -> None:
        """Nothing lies below it any more."""
        async with self._database.writing() as connection:
            await connection.execute(update(table).where(table.c.id == former.id).values(settled=1))

    async def forget_old(self) -> None:
        """Forget those that anybody may have again."""
        old = (table.c.reserved_until <= self._now()) & (table.c.settled == 1)
        async with self._database.writing() as connection:
            await connection.execute(delete(table).where(old))


async def require_free_name(
    connection: AsyncConnection, name: AccountName, now: float, *, claimant: AccountId | None = None
) -> None:
    """Return if an account may be called so, as far as no other one was until of late.

    Raises:
        NameCollision: one was.
    """
    kept = (table.c.name_folded == name.folded) & (table.c.reserved_until > now)
    holder = (await connection.execute(select(table.c.account_id).where(kept).order_by(table.c.id.desc()))).scalar()
    if holder is not None and holder != str(claimant):
        raise NameCollision(f"the name {name} is kept for the account that had it", found=name)


async def give_up_name(
    connection: AsyncConnection,
    name: AccountName,
    account_id: AccountId,
    *,
    now: float,
    kept_s: float,
    by: AccountId | None,
    settled: bool,
) -> None:
    """Write down that an account had this name."""
    row = {
        "name": name[:],
        "name_folded": name.folded,
        "account_id": str(account_id),
        "changed_by": None if by is None else str(by),
        "at": now,
        "reserved_until": now + kept_s,
        "settled": int(settled),
    }
    await connection.execute(insert(table).values(row))
