"""Leases in the catalog: they keep the contract, and stand for as long as their holder gives signs of life."""

from __future__ import annotations

import asyncio

import pytest

from catalog import stored_leases
from catalog.catalog import Catalog
from catalog.stored_leases import PlaceLeases
from opendatafabric.errors import TransientStorageError
from opendatafabric.limits import LEASE_SILENCE_S_MAX
from storage import signs_of_life
from storage.values import LeaseKind
from tests.suites.lease_store import LeaseStoreSuite

PLACE = "/datasets/one"


@pytest.fixture
def leases(catalog: Catalog) -> PlaceLeases:
    return catalog.stores.leases(PLACE)


@pytest.fixture
def others(catalog: Catalog) -> PlaceLeases:
    return catalog.stores.leases(PLACE)


class TestLeasesInTheCatalog(LeaseStoreSuite):
    pass


async def test_places_do_not_see_the_notes_of_each_other(catalog: Catalog, leases: PlaceLeases) -> None:
    lease = await leases.place(LeaseKind.PIN, b"")
    assert await catalog.stores.leases(PLACE + "-2").standing() == []
    await leases.withdraw(lease)


async def test_a_note_without_a_sign_of_life_goes(
    leases: PlaceLeases, others: PlaceLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = signs_of_life.seconds()
    lease = await leases.place(LeaseKind.PIN, b"mine")
    monkeypatch.setattr(stored_leases, "seconds", lambda: began + LEASE_SILENCE_S_MAX - 1)
    assert await others.standing() == [lease]
    monkeypatch.setattr(stored_leases, "seconds", lambda: began + LEASE_SILENCE_S_MAX + 60)
    assert await leases.standing() == [lease]
    assert await others.standing() == []
    assert await leases.standing() == []
    await leases.withdraw(lease)


async def test_a_note_from_before_the_machine_was_started_goes(
    leases: PlaceLeases, others: PlaceLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    await leases.place(LeaseKind.SWEEP, b"")
    monkeypatch.setattr(stored_leases, "seconds", lambda: 1.0)
    assert await others.standing() == []


async def test_a_holder_gives_signs_of_life(
    leases: PlaceLeases, others: PlaceLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signs_of_life, "LEASE_RENEW_S", 0)
    signed = asyncio.Event()
    sign = leases._sign

    async def noted(token: str) -> None:
        await sign(token)
        signed.set()

    monkeypatch.setattr(leases._signs, "_sign", noted)
    lease = await leases.place(LeaseKind.PIN, b"")
    later = signs_of_life.seconds() + LEASE_SILENCE_S_MAX + 60
    with monkeypatch.context() as patched:
        patched.setattr(stored_leases, "seconds", lambda: later)
        signed.clear()
        await signed.wait()
        signed.clear()
        await signed.wait()
        assert await others.standing() == [lease]
    await leases.withdraw(lease)


async def test_a_holder_stops_trusting_its_notes_long_before_others_do(
    leases: PlaceLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await leases.place(LeaseKind.PIN, b"")
    await leases.confirm()
    late = signs_of_life.seconds() + LEASE_SILENCE_S_MAX / 2 + 1
    monkeypatch.setattr(signs_of_life, "seconds", lambda: late)
    with pytest.raises(TransientStorageError, match="stood still"):
        await leases.confirm()
    await leases.withdraw(lease)
    await leases.confirm()


async def test_withdrawing_from_a_catalog_that_fails_is_no_error(
    leases: PlaceLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await leases.place(LeaseKind.PIN, b"")

    def broken() -> None:
        raise TransientStorageError("the catalog cannot be used")

    monkeypatch.setattr(leases, "_remove", lambda tokens: broken())
    await leases.withdraw(lease)
