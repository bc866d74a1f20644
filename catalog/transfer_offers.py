"""Datasets that their owners offer to other accounts, and what changes hands when one is taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, or_, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from catalog.engine import Database
from catalog.lifecycle_tables import transfer_offers
from catalog.role_tables import grants
from catalog.tables import datasets, schedules
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import NotFound


@dataclass(frozen=True, slots=True)
class TransferOffer:
    """A dataset that one account offers to another; ``account_id`` did so."""

    dataset_id: DatasetId
    from_id: AccountId
    to_id: AccountId
    account_id: AccountId | None
    at: float


class TransferOffers:
    """The offers of one catalog; one at most of a dataset."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def make(
        self, dataset_id: DatasetId, *, from_id: AccountId, to_id: AccountId, by: AccountId | None
    ) -> TransferOffer:
        """Offer a dataset, to nobody else any more."""
        offer = TransferOffer(dataset_id, from_id, to_id, by, self._now())
        made = upsert(transfer_offers).values(_row(offer))
        async with self._database.writing() as connection:
            await connection.execute(made.on_conflict_do_update(index_elements=["dataset_id"], set_=_row(offer)))
        return offer

    async def find(self, dataset_id: DatasetId) -> TransferOffer | None:
        """The offer of a dataset, if there is one."""
        query = select(transfer_offers).where(transfer_offers.c.dataset_id == str(dataset_id))
        async with self._database.reading() as connection:
            row = (await connection.execute(query)).first()
        return None if row is None else _offer(row)

    async def list(self, account_id: AccountId) -> list[TransferOffer]:
        """What is offered to an account, and by it."""
        is_party = or_(transfer_offers.c.to_id == str(account_id), transfer_offers.c.from_id == str(account_id))
        query = select(transfer_offers).where(is_party).order_by(transfer_offers.c.at)
        async with self._database.reading() as connection:
            return [_offer(row) for row in await connection.execute(query)]

    async def withdraw(self, dataset_id: DatasetId) -> None:
        """Offer it no longer; ``NotFound`` when it is not."""
        async with self._database.writing() as connection:
            gone = delete(transfer_offers).where(transfer_offers.c.dataset_id == str(dataset_id))
            if not (await connection.execute(gone)).rowcount:
                raise no_offer(dataset_id)

    async def take(self, offer: TransferOffer, *, is_admin: bool) -> None:
        """Let the dataset be the receiver's, all at once: he needs no role any more, and what ran with the rights of
        the former owner runs with his, as a stranger's unless he is an administrator.
        """
        dataset_id, to_id = str(offer.dataset_id), str(offer.to_id)
        async with self._database.writing() as connection:
            await connection.execute(update(datasets).where(datasets.c.id == dataset_id).values(owner_id=to_id))
            await connection.execute(delete(grants).filter_by(dataset_id=dataset_id, account_id=to_id))
            await connection.execute(
                update(schedules)
                .where(schedules.c.dataset_id == dataset_id)
                .values(account_id=to_id, foreign=int(not is_admin))
            )
            await connection.execute(delete(transfer_offers).where(transfer_offers.c.dataset_id == dataset_id))


def no_offer(dataset_id: DatasetId) -> NotFound:
    """Nobody offers that dataset."""
    return NotFound(f"dataset {dataset_id} is offered to nobody", hint="its owner offers it: odf transfer REF ACCOUNT")


def _row(offer: TransferOffer) -> dict[str, Any]:
    return {
        "dataset_id": str(offer.dataset_id),
        "from_id": str(offer.from_id),
        "to_id": str(offer.to_id),
        "account_id": None if offer.account_id is None else str(offer.account_id),
        "at": offer.at,
    }


def _offer(row: Row[Any]) -> TransferOffer:
    return TransferOffer(
        DatasetId.from_text(row.dataset_id),
        AccountId.from_text(row.from_id),
        AccountId.from_text(row.to_id),
        None if row.account_id is None else AccountId.from_text(row.account_id),
        row.at,
    )
