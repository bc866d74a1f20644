"""Leases in a bucket: they keep the contract, and stand for as long as their holder gives signs of life."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from opendatafabric.errors import TransientStorageError
from opendatafabric.limits import LEASE_SILENCE_S_MAX
from storage import signs_of_life
from storage.s3 import leases as leases_module
from storage.s3.leases import LEASES_FOLDER, S3LeaseStore, _silent
from storage.s3.location import S3Location
from storage.values import LeaseKind
from tests.storage.s3.servers import ROOT
from tests.storage.s3.test_objects import client_of, names_in
from tests.suites.lease_store import LeaseStoreSuite

HOLDER = """
import asyncio, sys
from storage.s3.leases import S3LeaseStore
from storage.s3.location import parse_s3_address
from storage.values import LeaseKind

async def hold():
    await S3LeaseStore(parse_s3_address(sys.argv[1])).place(LeaseKind.PIN, b"mine")
    print("placed", flush=True)
    await asyncio.Event().wait()

asyncio.run(hold())
"""


class TestS3Leases(LeaseStoreSuite):
    @pytest.fixture
    def leases(self, location: S3Location) -> S3LeaseStore:
        return S3LeaseStore(location)

    @pytest.fixture
    def others(self, location: S3Location) -> S3LeaseStore:
        return S3LeaseStore(location)


@pytest.fixture
def leases(location: S3Location) -> S3LeaseStore:
    return S3LeaseStore(location)


async def test_a_note_outlives_its_process_until_it_was_silent_for_too_long(
    location: S3Location, leases: S3LeaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, str(location), stdout=subprocess.PIPE, cwd=ROOT
    )
    assert holder.stdout is not None
    await holder.stdout.readline()
    holder.kill()
    await holder.wait()
    assert [lease.contents for lease in await leases.standing()] == [b"mine"]
    monkeypatch.setattr(leases_module, "LEASE_SILENCE_S_MAX", -1)
    assert await leases.standing() == []
    assert names_in(location) == set()


async def test_a_holder_gives_signs_of_life_until_the_note_is_withdrawn(
    location: S3Location, leases: S3LeaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signs_of_life, "LEASE_RENEW_S", 0)
    signed = asyncio.Event()
    put = leases._put

    async def noted(name: str, data: bytes) -> None:
        await put(name, data)
        if name.endswith(".alive"):
            signed.set()

    monkeypatch.setattr(leases, "_put", noted)
    lease = await leases.place(LeaseKind.SWEEP, b"")
    await signed.wait()
    assert f"{LEASES_FOLDER}/{lease.token}.alive" in names_in(location)
    assert [each.token for each in await S3LeaseStore(location).standing()] == [lease.token]
    await leases.withdraw(lease)
    assert names_in(location) == set()


async def test_own_notes_are_never_taken_for_dead(leases: S3LeaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = await leases.place(LeaseKind.PIN, b"x")
    monkeypatch.setattr(leases_module, "LEASE_SILENCE_S_MAX", -1)
    assert await leases.standing() == [lease]
    await leases.withdraw(lease)


@pytest.mark.parametrize(
    ("silent_s", "trusted"), [(LEASE_SILENCE_S_MAX / 2, True), (LEASE_SILENCE_S_MAX / 2 + 1, False)]
)
async def test_a_holder_stops_trusting_its_notes_long_before_others_do(
    leases: S3LeaseStore, monkeypatch: pytest.MonkeyPatch, silent_s: float, trusted: bool
) -> None:
    await leases.confirm()
    for module in (leases_module, signs_of_life):
        monkeypatch.setattr(module, "seconds", lambda: 1_000.0)
    lease = await leases.place(LeaseKind.PIN, b"x")
    monkeypatch.setattr(signs_of_life, "seconds", lambda: 1_000.0 + silent_s)
    if trusted:
        await leases.confirm()
    else:
        with pytest.raises(TransientStorageError, match="stood still"):
            await leases.confirm()
    await leases.withdraw(lease)
    await leases.confirm()


def folder(**ages: float) -> Mapping[str, Any]:
    return {
        name.replace("_", "."): {"last_modified": datetime.fromtimestamp(1e9 - age, UTC)} for name, age in ages.items()
    }


def test_silence_is_counted_from_the_last_sign_by_the_newest_time_in_the_folder() -> None:
    assert _silent({}) == set()
    assert _silent(folder(old=10**6)) == set()
    assert _silent(folder(old=LEASE_SILENCE_S_MAX, new=0)) == set()
    assert _silent(folder(old=LEASE_SILENCE_S_MAX + 1, new=0)) == {"old"}
    assert _silent(folder(old=10**6, old_alive=LEASE_SILENCE_S_MAX, new=0)) == set()
    assert _silent(folder(gone_alive=10**6, new=0)) == {"gone"}


async def test_foreign_objects_among_the_notes_are_no_notes(location: S3Location, leases: S3LeaseStore) -> None:
    path = location.path(f"{LEASES_FOLDER}/pin-README")
    client_of(location).put_object(Bucket=location.bucket, Key=path, Body=b"?")
    assert await leases.standing() == []
    assert names_in(location) == {f"{LEASES_FOLDER}/pin-README"}
