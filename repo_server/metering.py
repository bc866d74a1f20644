"""Room for what comes: asked for before, kept while it comes, counted when it is there.

What broke off is measured, and so is whatever changed in ways that nobody could count, soon afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from catalog.amounts import Amounts, Limits, QuotaExceeded
from catalog.measuring import measure
from catalog.quotas import Quotas, Wish
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.errors import DatasetNotFound, OdfError
from opendatafabric.multihash import Multihash
from repo_server.logs import SERVER
from storage.dataset import Dataset
from storage.leases import to_its_end
from storage.repositories import DatasetRepository
from storage.stored_amount import appended_amount

LEASE_S: Final = 120.0
"""Room that a process keeps is free so long after the process died, once its dataset was measured."""

MEASURED_EVERY_S: Final = 10.0


class Room:
    """Room that is kept for something."""

    def __init__(self, quotas: Quotas, reservation_id: str, dataset_id: DatasetId) -> None:
        self._quotas, self.id, self._dataset_id = quotas, reservation_id, dataset_id
        self.is_over = False

    async def settle(self) -> None:
        """All of it has come."""
        await self._quotas.settle(self.id, self._dataset_id)
        self.is_over = True

    async def give_back(self) -> None:
        """Nothing of it has come, or it was counted in another way."""
        await self._quotas.give_back(self.id)
        self.is_over = True


class Meter:
    """The quotas of one server."""

    def __init__(self, quotas: Quotas, limits: Limits, repository: DatasetRepository) -> None:
        self._quotas, self._limits, self._repository = quotas, limits, repository

    async def check_new_dataset(self, owner: AccountId) -> None:
        """Go on if the account may have one dataset more; ``QuotaExceeded`` if not."""
        await self._quotas.check_new_dataset(owner, self._limits)

    async def reserve(self, wish: Wish, *, lease_s: float = LEASE_S, reservation_id: str | None = None) -> Room:
        """Keep room; where there is none, what is not sure is measured first.

        Raises:
            QuotaExceeded: there is none.
        """
        try:
            kept = await self._quotas.reserve(wish, self._limits, lease_s=lease_s, reservation_id=reservation_id)
        except QuotaExceeded:
            if not await self.measure_unsure():
                raise
            kept = await self._quotas.reserve(wish, self._limits, lease_s=lease_s, reservation_id=reservation_id)
        return Room(self._quotas, kept, wish.dataset_id)

    @asynccontextmanager
    async def room(self, wish: Wish) -> AsyncIterator[Room]:
        """The same while something comes; what it leaves open is measured. Errors as ``reserve``."""
        room = await self.reserve(wish)
        renewing = asyncio.create_task(self._keep(room))
        try:
            yield room
        finally:
            renewing.cancel()
            if not room.is_over:
                await to_its_end(self._let_go(room, wish.dataset_id))

    @asynccontextmanager
    async def for_object(self, owner: AccountId, dataset_id: DatasetId, key: str, size: int) -> AsyncIterator[None]:
        """Room for one object while it comes, unless a push keeps it. Errors as ``reserve``."""
        if await self.keeps_room_for(dataset_id, key, size):
            yield
            return
        async with self.room(Wish(dataset_id, owner, {key: size})) as room:
            try:
                yield
            except OdfError:
                await room.give_back()
                raise
            await room.settle()
        await self.changed(dataset_id)  # somebody else may have sent the same

    async def keeps_room_for(self, dataset_id: DatasetId, key: str, size: int) -> bool:
        """Whether a push keeps room for that object."""
        return await self._quotas.has_room_for(dataset_id, key, size)

    @asynccontextmanager
    async def for_ingest(self, owner: AccountId, dataset_id: DatasetId, size: int) -> AsyncIterator[None]:
        """Room for what a file of ``size`` may become; what it became is counted by ``appended``."""
        async with self.room(Wish(dataset_id, owner, {"a slice": size})) as room:
            try:
                yield
            except OdfError:
                await room.give_back()
                raise
            await room.give_back()

    async def appended(
        self, dataset_id: DatasetId, dataset: Dataset, new_head: Multihash, old_head: Multihash | None
    ) -> None:
        """Count what an append of ours has brought."""
        came = await appended_amount(dataset, new_head, old_head=old_head)
        await self._quotas.add(dataset_id, Amounts(came.bytes, came.objects))

    async def renew(self, reservation_id: str, *, lease_s: float) -> None:
        """Keep room that is kept by a name."""
        await self._quotas.renew(reservation_id, lease_s=lease_s)

    async def settle(self, reservation_id: str, dataset_id: DatasetId) -> None:
        """What room was kept for by a name has come."""
        await self._quotas.settle(reservation_id, dataset_id)

    async def give_back(self, reservation_id: str) -> None:
        """Nothing of it has come."""
        await self._quotas.give_back(reservation_id)

    async def changed(self, dataset_id: DatasetId) -> None:
        """It has more or less than before, nobody knows how much."""
        await self._quotas.add(dataset_id, Amounts(), dirty=True)

    async def measure(self, dataset_id: DatasetId) -> bool:
        """Count what lies there; whether that counts."""
        try:
            entry = await self._repository.find(dataset_id, include_pending=True)
        except DatasetNotFound:
            return False
        return await measure(self._quotas, dataset_id, entry.dataset)

    async def measure_unsure(self) -> bool:
        """Measure every dataset whose numbers are not sure; whether there was one."""
        unsure = await self._quotas.to_measure()
        return any([await self.measure(each) for each in unsure])

    async def run_for_ever(self) -> None:
        """Measure what is not sure, every few seconds."""
        while True:
            try:
                await self.measure_unsure()
                await self._quotas.forget_gone()
            except OdfError as error:
                SERVER.warning("what datasets take cannot be measured: %s", error)
            await asyncio.sleep(MEASURED_EVERY_S)

    async def _let_go(self, room: Room, dataset_id: DatasetId) -> None:
        await self._quotas.let_go(room.id)
        with suppress(OdfError):  # else it is measured later
            await self.measure(dataset_id)

    async def _keep(self, room: Room) -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            with suppress(OdfError):
                await self._quotas.renew(room.id, lease_s=LEASE_S)
