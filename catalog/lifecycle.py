"""The end of a dataset under its name: deleted and brought back, renamed, given away; over any repository.

Each deed is written down first (``tombstones.py``), then done to what is stored, then to what is known, and then
settled: a crash at any step leaves a tombstone that ``finish_begun`` brings to its end. Who may do what is decided
before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.dataset_facts import told_facts
from catalog.datasets import DatasetRecord
from catalog.events import EventType
from catalog.lifecycle_terms import Terms
from catalog.tombstones import Change, Fate, Tombstone
from catalog.transfer_offers import TransferOffer, no_offer
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import Conflict, DatasetNotFound, NameCollision
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry

BROKEN_OFF_S: Final = 60
"""A deed that was begun so long ago and is not settled was broken off; none takes that long."""


class Lifecycle:
    """Over one repository and its catalog. ``by`` is the account that does it, ``None`` the operator."""

    def __init__(self, repository: DatasetRepository, catalog: Catalog, terms: Terms, now: Callable[[], float]) -> None:
        self._repository = repository
        self._catalog = catalog
        self._stones = catalog.tombstones
        self._terms = terms
        self._now = now

    # --- deleting

    async def delete(self, record: DatasetRecord, *, by: AccountId | None) -> Tombstone:
        """Take a dataset from sight, at once and for everybody; it is kept for a while.

        Raises:
            DatasetNotFound: it is gone already.
            Conflict: something else is being done to it.
        """
        await self._know(record)
        kept_s = self._terms.deleted_kept_s
        stone = await self._stones.begin(Change(Fate.DELETED, record, by, self._terms.names_reserved_s, kept_s=kept_s))
        await self._finish_deletion(stone)
        return stone

    async def undelete(self, dataset_id: DatasetId, alias: DatasetAlias | None = None) -> DatasetEntry:
        """Bring back what was deleted, under the name it had below its owner's account, or another.

        Raises:
            DatasetNotFound: it was not deleted, or is not kept any longer.
            NameCollision: the name belongs to another dataset by now, or is reserved.
        """
        stone = await self._stones.of_deleted(dataset_id)
        if stone is None:
            raise DatasetNotFound(f"no deleted dataset {dataset_id} is kept here", hint="odf undelete lists them")
        wanted = alias or _below(stone.alias, await self._catalog.accounts.find_by_id(stone.owner_id))
        await self.require_free(wanted, stone.owner_id)
        entry = await self._restored(dataset_id, wanted)
        await self._rename_record(dataset_id, entry.alias)
        await self._catalog.schedules.revive(dataset_id)
        await self._stones.withdraw(stone)
        await self._tell(EventType.CREATED, dataset_id)
        return entry

    async def purge(self, dataset_id: DatasetId) -> None:
        """Give up for good what was deleted; ``DatasetNotFound`` when it was not."""
        stone = await self._stones.of_deleted(dataset_id)
        if stone is None:
            raise DatasetNotFound(f"no deleted dataset {dataset_id} is kept here", hint="odf undelete lists them")
        with suppress(DatasetNotFound):  # somebody else was quicker, or a crash came between
            await self._repository.discard(dataset_id)
        if not await self._is_here(dataset_id):
            await self._catalog.belongings.forget(dataset_id)
        await self._stones.keep_no_longer(stone)

    # --- renaming

    async def rename(self, record: DatasetRecord, alias: DatasetAlias, *, by: AccountId | None) -> DatasetEntry:
        """Give a dataset another name; the old one stays reserved.

        Raises:
            DatasetNotFound: it is gone.
            NameCollision: the name is taken, or reserved for somebody else.
            Conflict: something else is being done to it.
        """
        await self._know(record)
        await self.require_free(alias, record.owner_id)
        stone = await self._stones.begin(
            Change(Fate.RENAMED, record, by, self._terms.names_reserved_s, new_alias=alias)
        )
        return await self._finish_renaming(stone, alias)

    async def require_free(self, alias: DatasetAlias, claimant: AccountId) -> None:
        """Return if that account may give the name to a dataset, as far as no former owner has a right to it.

        Raises:
            NameCollision: it is reserved for somebody else.
        """
        holder = await self._stones.reserved_for(alias)
        if holder is not None and holder != claimant:
            raise NameCollision(f"the name {alias} is reserved for its former owner", found=alias)

    # --- giving away

    async def offer(self, record: DatasetRecord, receiver: Account, *, by: AccountId | None) -> TransferOffer:
        """Offer a dataset to another account.

        Raises:
            Conflict: it is that account's already.
        """
        await self._know(record)
        if receiver.id == record.owner_id:
            raise Conflict(f"{record.alias} belongs to {receiver.name} already")
        return await self._catalog.transfer_offers.make(record.id, from_id=record.owner_id, to_id=receiver.id, by=by)

    async def take(self, dataset_id: DatasetId, *, by: AccountId | None) -> DatasetEntry:
        """Let an offered dataset be the receiver's, under the same name below the receiver's account.

        Raises:
            NotFound: it is offered to nobody.
            NameCollision: the receiver has a dataset of that name, or the name is reserved.
            Conflict: something else is being done to it.
        """
        offer, record = await self._catalog.transfer_offers.find(dataset_id), await self._record(dataset_id)
        if offer is None or offer.from_id != record.owner_id:
            raise no_offer(dataset_id)
        receiver = await self._catalog.accounts.find_by_id(offer.to_id)
        alias = _below(record.alias, receiver)
        if alias != record.alias:
            await self.require_free(alias, receiver.id)
        stone = await self._stones.begin(
            Change(Fate.TRANSFERRED, record, by, self._terms.names_reserved_s, new_alias=alias)
        )
        return await self._finish_transfer(stone, alias)

    # --- after a crash, and after a time

    async def finish_begun(self) -> None:
        """Bring to an end what was broken off."""
        for stone in await self._stones.unsettled(before=self._now() - BROKEN_OFF_S):
            with suppress(Conflict, DatasetNotFound):  # then it was withdrawn
                await self._finish(stone)

    async def expire(self) -> int:
        """Give up what was kept long enough, and forget old names; how many datasets these were."""
        over = await self._stones.kept(until=self._now())
        for stone in over:
            await self.purge(stone.dataset_id)
        await self._stones.forget_old()
        return len(over)

    async def _finish(self, stone: Tombstone) -> None:
        if stone.fate is Fate.DELETED:
            await self._finish_deletion(stone)
        elif stone.new_alias is not None:
            finish = self._finish_renaming if stone.fate is Fate.RENAMED else self._finish_transfer
            await finish(stone, stone.new_alias)

    async def _finish_deletion(self, stone: Tombstone) -> None:
        try:
            await self._repository.retire(stone.dataset_id)
        except DatasetNotFound:
            await self._stones.withdraw(stone)
            raise
        await self._catalog.belongings.suspend(stone.dataset_id)
        await self._tell(EventType.GONE, stone.dataset_id)
        await self._stones.settle(stone)

    async def _finish_renaming(self, stone: Tombstone, alias: DatasetAlias) -> DatasetEntry:
        entry = await self._moved(stone, alias)
        await self._rename_record(stone.dataset_id, alias)
        await self._end(stone, alias)
        return entry

    async def _finish_transfer(self, stone: Tombstone, alias: DatasetAlias) -> DatasetEntry:
        entry = await self._moved(stone, alias)
        offer = await self._catalog.transfer_offers.find(stone.dataset_id)
        if offer is not None:
            receiver = await self._catalog.accounts.find_by_id(offer.to_id)
            await self._catalog.transfer_offers.take(offer, is_admin=receiver.is_admin)
        await self._rename_record(stone.dataset_id, alias)
        await self._end(stone, alias)
        return entry

    async def _moved(self, stone: Tombstone, alias: DatasetAlias) -> DatasetEntry:
        try:
            if str(alias) == str(stone.alias):
                return await self._repository.find(stone.dataset_id)
            return await self._repository.rename(stone.dataset_id, alias)
        except (NameCollision, DatasetNotFound):
            await self._stones.withdraw(stone)
            raise

    async def _end(self, stone: Tombstone, alias: DatasetAlias) -> None:
        """There is no old name where only its case changed, or the owner."""
        if alias == stone.alias:
            await self._stones.withdraw(stone)
        else:
            await self._stones.settle(stone)

    async def _tell(self, type_: EventType, dataset_id: DatasetId) -> None:
        """What nobody was told of cannot be gone, and is told of when it is first looked at."""
        facts = await self._catalog.dataset_facts.of(dataset_id)
        if facts is not None:
            details = told_facts(facts, None) if type_ is EventType.CREATED else {}
            await self._catalog.events.note(type_, dataset_id, details)

    async def _restored(self, dataset_id: DatasetId, alias: DatasetAlias) -> DatasetEntry:
        try:
            return await self._repository.restore(dataset_id, alias)
        except DatasetNotFound:
            return await self._repository.find(dataset_id)  # a crash came between

    async def _know(self, record: DatasetRecord) -> None:
        """The catalog need not have heard of a dataset that somebody laid into the repository."""
        if await self._catalog.datasets.find(record.id) is None:
            await self._catalog.datasets.put(record)

    async def _record(self, dataset_id: DatasetId) -> DatasetRecord:
        record = await self._catalog.datasets.find(dataset_id)
        if record is None:
            raise no_offer(dataset_id)
        return record

    async def _rename_record(self, dataset_id: DatasetId, alias: DatasetAlias) -> None:
        record = await self._catalog.datasets.find(dataset_id)
        if record is not None:
            await self._catalog.datasets.put(replace(record, alias=alias))

    async def _is_here(self, dataset_id: DatasetId) -> bool:
        try:
            await self._repository.find(dataset_id, include_pending=True)
        except DatasetNotFound:
            return False
        return True


def _below(alias: DatasetAlias, account: Account) -> DatasetAlias:
    return alias if alias.account is None else DatasetAlias(account.name, alias.name)
