"""The contract of LeaseStore as a class: subclass, give a ``leases`` fixture and one over the same place, run."""

from __future__ import annotations

import asyncio

from storage.protocols import LeaseStore
from storage.values import LeaseKind


class LeaseStoreSuite:
    async def test_a_new_store_has_no_notes(self, leases: LeaseStore) -> None:
        assert await leases.standing() == []

    async def test_a_note_stands_until_it_is_withdrawn(self, leases: LeaseStore) -> None:
        lease = await leases.place(LeaseKind.PIN, b"contents")
        assert await leases.standing() == [lease]
        assert (lease.kind, lease.contents) == (LeaseKind.PIN, b"contents")
        await leases.withdraw(lease)
        assert await leases.standing() == []

    async def test_withdrawing_twice_is_no_error(self, leases: LeaseStore) -> None:
        lease = await leases.place(LeaseKind.SWEEP, b"")
        await leases.withdraw(lease)
        await leases.withdraw(lease)

    async def test_everybody_sees_the_notes_of_everybody(self, leases: LeaseStore, others: LeaseStore) -> None:
        own = await leases.place(LeaseKind.PIN, b"own")
        foreign = await others.place(LeaseKind.SWEEP, b"")
        for each in (leases, others):
            assert {lease.token for lease in await each.standing()} == {own.token, foreign.token}
        await others.withdraw(foreign)
        assert [lease.token for lease in await leases.standing()] == [own.token]
        await leases.withdraw(own)

    async def test_notes_are_told_apart(self, leases: LeaseStore) -> None:
        placed = await asyncio.gather(*(leases.place(LeaseKind.PIN, bytes([number])) for number in range(20)))
        assert {lease.contents for lease in await leases.standing()} == {bytes([number]) for number in range(20)}
        for lease in placed[:10]:
            await leases.withdraw(lease)
        assert len(await leases.standing()) == 10
        for lease in placed[10:]:
            await leases.withdraw(lease)

    async def test_later_notes_are_no_older_by_the_time_of_the_store(self, leases: LeaseStore) -> None:
        first = await leases.place(LeaseKind.PIN, b"")
        second = await leases.place(LeaseKind.PIN, b"")
        assert first.placed_at <= second.placed_at
        await leases.withdraw(first)
        await leases.withdraw(second)
