"""What expires goes away, what is fresh stays: uploads nobody continued, datasets whose first push never ended."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.visibility import Visibility
from opendatafabric.errors import StorageError
from opendatafabric.layout import data_key
from opendatafabric.multihash import physical_hash
from repo_server import sweeping
from repo_server.app import made_services
from repo_server.config import Tenancy
from repo_server.ingesting import ForeignEngine
from repo_server.metrics import Metrics
from repo_server.services import Services
from storage.local.objects import LocalObjectStore
from storage.repository import DatasetEntry
from storage.uploads import Uploads
from tests.repo_server.hosted import Hosted, a_chain, hosted

UPLOAD_LEASE_S, PENDING_LEASE_S = 1_000.0, 5_000.0
KEY = data_key(physical_hash(b"x" * 100))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    leases = {"upload_lease_s": UPLOAD_LEASE_S, "pending_lease_s": PENDING_LEASE_S}
    async with hosted(tmp_path, Tenancy.MULTI, **leases) as running_server:
        yield running_server


@pytest.fixture
async def services(server: Hosted) -> Services:
    """What a sweeper needs; its clock stands still unless a test moves it."""
    start = time.time()
    engine, owner = ForeignEngine(server.settings), server.accounts["alice"]
    made = await made_services(
        server.settings, server.repository, server.catalog, owner, engine, upstream=None, metrics=Metrics()
    )
    return replace(made, now=lambda: start)


def later(services: Services, seconds: float) -> Services:
    moment = services.now() + seconds
    return replace(services, now=lambda: moment)


def uploads_of(entry: DatasetEntry) -> Uploads:
    assert isinstance(entry.dataset.objects, LocalObjectStore)
    return Uploads(entry.dataset.objects, lease_s=UPLOAD_LEASE_S)


async def begin_upload(entry: DatasetEntry, now: float) -> str:
    return (await uploads_of(entry).begin(KEY, size=100, size_max=100, now=now)).id


def files_of(entry: DatasetEntry) -> set[Path]:
    return {path for path in entry.path.rglob("*") if path.is_file()}


async def test_an_upload_whose_lease_is_over_goes_and_a_fresh_one_stays(server: Hosted, services: Services) -> None:
    entry = await server.add("open", a_chain())
    before = files_of(entry)
    await begin_upload(entry, services.now())
    after = later(services, UPLOAD_LEASE_S + 1)
    fresh = await begin_upload(entry, after.now())
    await sweeping.sweep(after)
    assert (await uploads_of(entry).find(fresh, now=after.now())).offset == 0
    assert {path.name.partition(".json")[0] for path in files_of(entry) - before} == {f".pending-{fresh}"}


async def test_a_dataset_whose_first_push_never_ended_goes(server: Hosted, services: Services) -> None:
    pending = await server.add_pending("coming", a_chain(), Visibility.PUBLIC)
    await sweeping.sweep(later(services, PENDING_LEASE_S - 60))
    assert pending.path.exists()
    await sweeping.sweep(later(services, PENDING_LEASE_S + 60))
    assert not pending.path.exists()


async def test_a_dataset_with_a_head_stays_however_old_it_is(server: Hosted, services: Services) -> None:
    entry = await server.add("open", a_chain())
    before = files_of(entry)
    await sweeping.sweep(later(services, 1_000_000_000))
    assert files_of(entry) == before
    assert (await server.ask("GET", server.path("open") + "/refs/head")).status == 200


async def test_the_name_and_id_of_a_swept_dataset_are_free_again(server: Hosted, services: Services) -> None:
    await server.add_pending("coming", a_chain(), Visibility.PUBLIC)
    await sweeping.sweep(later(services, PENDING_LEASE_S + 60))
    again = await server.repository.create(server.alias("coming"), a_chain().id)
    assert again.pending


async def test_a_sweep_that_fails_is_told_and_tried_again(
    services: Services, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    outcomes = [StorageError("the disk is full"), None]
    done = asyncio.Event()

    async def sweep(_: Services) -> None:
        failure = outcomes.pop(0)
        if failure is not None:
            raise failure
        done.set()

    monkeypatch.setattr(sweeping, "sweep", sweep)
    monkeypatch.setattr(sweeping, "_INTERVAL_S", 0)
    with caplog.at_level(logging.WARNING):
        task = asyncio.create_task(sweeping.sweep_for_ever(services))
        async with asyncio.timeout(10):
            await done.wait()
        task.cancel()
    assert "the disk is full" in caplog.text
