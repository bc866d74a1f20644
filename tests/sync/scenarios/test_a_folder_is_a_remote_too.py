"""Datasets move to and from folders by the simple protocol, durable and checked as from a server."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import ChainsDiverged, HashMismatch, SeedConflict, UnsupportedOperation
from opendatafabric.layout import data_key
from opendatafabric.multihash import physical_hash
from storage.open import open_dataset
from storage.repository import Repository
from sync.pull import pull_dataset
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.transfer import DatasetTarget, RepositoryTarget, TransferOptions
from tests.sync.scenarios.stage import assert_holds, fill, history
from tests.sync.smart_server import memory_dataset

FORCED = TransferOptions(force=True)


async def test_there_and_back_again(tmp_path: Path) -> None:
    builder, source, target = history(), memory_dataset(), memory_dataset()
    await fill(source, builder)
    remote = parse_remote((tmp_path / "weather").as_uri())
    async with aiohttp.ClientSession() as session:
        assert (await push_dataset(session, source, remote)).objects_moved == 2
        assert (await push_dataset(session, source, remote)).up_to_date
        assert (await pull_dataset(session, remote, DatasetTarget(target))).objects_moved == 2
    await assert_holds(target, builder)


async def test_into_a_repository_by_name(tmp_path: Path) -> None:
    builder, source = history(), memory_dataset()
    await fill(source, builder)
    repository = Repository.init(tmp_path / "repository")
    target = RepositoryTarget(repository, DatasetAlias.from_text("weather"))
    remote = parse_remote(str(tmp_path / "weather"))
    async with aiohttp.ClientSession() as session:
        await push_dataset(session, source, remote)
        await pull_dataset(session, remote, target)
    found = await target.find()
    assert found is not None
    assert await found.head() == builder.head


async def test_diverged_and_strange_chains_are_refused(tmp_path: Path) -> None:
    ours, theirs = history(), history().fork(3)
    theirs.info("other")
    remote = parse_remote(str(tmp_path / "weather"))
    async with aiohttp.ClientSession() as session:
        for builder, error in ((ours, None), (theirs, ChainsDiverged), (history(number=2), SeedConflict)):
            source = memory_dataset()
            await fill(source, builder)
            if error is None:
                await push_dataset(session, source, remote)
                continue
            with pytest.raises(error):
                await push_dataset(
                    session, source, remote, options=FORCED if error is SeedConflict else TransferOptions()
                )
    assert await open_dataset(remote.url).head() == ours.head


async def test_a_damaged_object_is_not_pulled(tmp_path: Path) -> None:
    source, target = memory_dataset(), memory_dataset()
    await fill(source, history(slices=1))
    remote = parse_remote(str(tmp_path / "weather"))
    async with aiohttp.ClientSession() as session:
        await push_dataset(session, source, remote)
        stored = tmp_path / "weather" / data_key(physical_hash(b"slice 0"))
        stored.chmod(0o600)
        stored.write_bytes(b"slice X")
        with pytest.raises(HashMismatch):
            await pull_dataset(session, remote, DatasetTarget(target))
    assert await target.head() is None


async def test_plain_http_is_not_pushed_to() -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(UnsupportedOperation):
            await push_dataset(session, memory_dataset(), parse_remote("http://host/weather"))
