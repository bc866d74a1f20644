"""A server in front of S3 dies without warning at every write it asks of the store: nothing is torn or lost."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from catalog.catalog import open_catalog
from catalog.sqlite_files import sqlite_url
from opendatafabric import limits
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import OdfError
from opendatafabric.names import AccountName
from repo_server.app import running, serve
from repo_server.config import Settings
from storage.fsck import fsck
from storage.open import init_repository
from storage.repositories import DatasetRepository
from storage.s3.location import parse_s3_address
from sync.push import push_dataset
from sync.remote import parse_remote
from tests.storage.chains import ChainBuilder
from tests.storage.s3.proxy import WRITES, PassOn, S3Proxy, Strike, dead, s3_proxy
from tests.storage.s3.servers import KEYS, versitygw
from tests.storage.s3.test_objects import names_in
from tests.sync.scenarios.stage import assert_holds, fill, history
from tests.sync.smart_server import memory_dataset

pytestmark = pytest.mark.slow

ALIAS = DatasetAlias.from_text("alice/weather")
WRITES_MAX = 60
GARBAGE = {"leftover", "orphan"}
FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["repo_server.app", "storage.s3.repository"])


@pytest.fixture
def proxied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Proxy]:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with versitygw(tmp_path / "buckets") as server, s3_proxy(server) as running_proxy:
        yield running_proxy


def serving(environment: dict[str, str], settings: dict[str, object], ready: Connection) -> None:
    """What the process does."""
    os.environ.update(environment)
    asyncio.run(serve(Settings.model_validate(settings), on_ready=ready.send))


@asynccontextmanager
async def server_process(settings: dict[str, object]) -> AsyncIterator[tuple[str, BaseProcess]]:
    """The address of a server in a process of its own, and the process."""
    ready, told = FORKING.Pipe(duplex=False)
    process = FORKING.Process(target=serving, args=[KEYS, settings, told])
    process.start()
    try:
        assert await asyncio.to_thread(ready.poll, 60)
        yield ready.recv(), process
    finally:
        process.kill()
        await asyncio.to_thread(process.join)


def killing(process: BaseProcess) -> Strike:
    """The server dies before the write is done; the one before it was."""

    async def strike(request: web.Request, pass_on: PassOn) -> web.StreamResponse:
        process.kill()
        process.join()
        return await dead(request, pass_on)

    return strike


async def push_to(address: str, builder: ChainBuilder, token: str) -> None:
    local = memory_dataset()
    await fill(local, builder)
    async with aiohttp.ClientSession() as session:
        await push_dataset(session, local, parse_remote(f"odf+{address}/{ALIAS}"), token=token)


async def begun(place: str, catalog_url: str, builder: ChainBuilder | None) -> tuple[DatasetRepository, str]:
    """A repository that holds ``builder``, and the token of who may push to it."""
    repository = await init_repository(place)
    async with open_catalog(catalog_url) as catalog:
        token = await catalog.tokens.create(await catalog.accounts.find_or_create(AccountName("alice")))
    if builder is not None:
        async with running(Settings.model_validate({"repo": place, "catalog_url": catalog_url, "port": 0})) as url:
            await push_to(url, builder, token)
    return repository, token


@pytest.mark.parametrize("is_new", [True, False], ids=["new dataset", "further block"])
async def test_whichever_write_a_server_dies_at_the_dataset_is_the_old_or_the_new_one(
    proxied: S3Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    old = history()
    new = old.fork(len(old.blocks))
    new.data(b"new")
    for number in range(WRITES_MAX):
        place, catalog_url = f"{proxied.address}{number}", sqlite_url(tmp_path / f"{number}.sqlite")
        repository, token = await begun(place, catalog_url, None if is_new else old)
        settings: dict[str, object] = {"repo": place, "catalog_url": catalog_url, "port": 0, "access_log": False}
        async with server_process(settings) as (address, process):
            proxied.calm()
            proxied.strike(killing(process), *WRITES, skipped=number)
            with monkeypatch.context() as patched, suppress(OdfError):
                patched.setattr(limits, "CONVERSATIONS_MAX", 1)
                await push_to(address, new, token)
        done = proxied.struck == 0
        proxied.calm()
        entries = [entry async for entry in repository.iterate()]
        for entry in entries:
            await assert_holds(entry.dataset, old if await entry.dataset.head() == old.head else new)
            assert {finding.code async for finding in fsck(entry.dataset)} <= GARBAGE
        assert is_new or entries
        async with running(Settings.model_validate(settings)) as url:
            await push_to(url, new, token)
        dataset = (await repository.find(ALIAS)).dataset
        await assert_holds(dataset, new)
        await dataset.writable_objects().expire_quarantine(before=time.time() + 60)
        assert [name for name in names_in(parse_s3_address(place)) if "/.pending/" in name] == []
        if done:
            assert number > 5
            return
    raise AssertionError("the push never ended")
