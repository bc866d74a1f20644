"""Servers whose repository lies at an IPFS node: transfers, restarts, and what clients see when the node is away."""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import aiohttp
import orjson
import pytest
from yarl import URL

from catalog.sqlite_files import sqlite_url
from opendatafabric.errors import MalformedInput, OdfError, StorageError
from opendatafabric.ipfs.cid import Cid
from opendatafabric.layout import data_key
from repo_server.app import running
from repo_server.config import Settings, Tenancy
from storage import open as open_module
from storage.ipfs.node import IpfsNode
from storage.ipfs.node_place import NodePlace
from storage.ipfs.rpc import Patience
from tests.cli.runner import odf
from tests.ipfs.node import NodeAddresses, ipfs_node, running_node
from tests.repo_server.hosted import LARGE, Hosted, a_chain, hash_of, hosted
from tests.repo_server.test_transfers import Client
from tests.sync.scenarios.stage import assert_holds, fill
from verify.integrity import verify_integrity

pytestmark = pytest.mark.slow

__all__ = ["ipfs_node"]


@pytest.fixture
async def server(ipfs_node: NodeAddresses, tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted_at(f"{ipfs_node.rpc}/{uuid.uuid4().hex}", tmp_path) as found:
        yield found


def hosted_at(address: str, folder: Path) -> AbstractAsyncContextManager[Hosted]:
    return hosted(folder, Tenancy.MULTI, address=address, catalog_url=sqlite_url(folder / "catalog.sqlite"))


async def ready(server: Hosted) -> tuple[int, str]:
    answer = await server.ask("GET", "/system/ready")
    return answer.status, orjson.loads(answer.body).get("reason", "")


async def pulled(server: Hosted) -> Client:
    reader = Client(server)
    await reader.pull()
    return reader


async def test_what_is_pushed_can_be_pulled_and_verified(server: Hosted) -> None:
    client, chain = Client(server), a_chain()
    await fill(client.local, chain)
    await client.push()
    await assert_holds((await pulled(server)).local, chain)
    chain.info("more")
    await fill(client.local, chain)
    await client.push()
    await assert_holds((await pulled(server)).local, chain)
    report = await verify_integrity((await server.repository.find(chain.id)).dataset)
    assert report.findings == (await verify_integrity(client.local)).findings


async def test_objects_are_served_in_ranges(server: Hosted) -> None:
    chain = a_chain()
    await server.add("weather", chain)
    path = f"{server.path('weather')}/{data_key(hash_of(LARGE, chain))}"
    assert (await server.ask("GET", path)).body == LARGE
    part = await server.ask("GET", path, headers={"Range": "bytes=262140-262150"})
    assert (part.status, part.body) == (206, LARGE[262140:262151])
    assert (await server.ask("GET", f"{server.path('weather')}/{data_key(chain.head)}")).status == 404


async def test_an_object_that_the_node_breaks_off_in_is_cut_and_never_ends_as_if_it_were_whole(
    server: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = a_chain()
    await server.add("weather", chain)

    async def broken(self: IpfsNode, cid: Cid, start: int, length: int) -> AsyncIterator[bytes]:
        if start == 0:
            yield LARGE[:300_000]
        raise StorageError("the node failed")

    monkeypatch.setattr(IpfsNode, "cat", broken)
    with pytest.raises(aiohttp.ClientPayloadError):
        await server.ask("GET", f"{server.path('weather')}/{data_key(hash_of(LARGE, chain))}")


async def test_resumable_uploads_are_refused_as_unsupported(server: Hosted) -> None:
    chain = a_chain()
    await server.add("weather", chain)
    path = f"{server.path('weather')}/uploads/data/{chain.head}"
    answer = await server.ask("POST", path, who="alice", headers={"Upload-Length": "10"})
    assert (answer.status, "resumable" in answer.text) == (501, True)


async def test_another_server_over_the_same_catalog_serves_the_same(server: Hosted) -> None:
    client, chain = Client(server), a_chain()
    await fill(client.local, chain)
    await client.push()
    async with running(server.settings) as other_url:
        other = Hosted(other_url, server.settings, server.repository, server.catalog, server.session)
        other.accounts, other.tokens = server.accounts, server.tokens
        await assert_holds((await pulled(other)).local, chain)


async def test_of_pushes_through_two_servers_one_wins(server: Hosted) -> None:
    client, chain = Client(server), a_chain()
    await fill(client.local, chain)
    await client.push()
    async with running(server.settings) as other_url:
        other = Hosted(other_url, server.settings, server.repository, server.catalog, server.session)
        other.accounts, other.tokens = server.accounts, server.tokens
        for number in range(3):
            rivals = [chain.fork(len(chain.blocks)) for _ in range(2)]
            pushing = []
            for at, (where, rival) in enumerate(zip((server, other), rivals, strict=True)):
                rival.info(f"round {number}, rival {at}")
                pusher = Client(where)
                await fill(pusher.local, rival)
                pushing.append(pusher.push())
            ended = await asyncio.gather(*pushing, return_exceptions=True)
            winners = [rival for rival, each in zip(rivals, ended, strict=True) if not isinstance(each, BaseException)]
            assert len(winners) == 1, ended
            chain = winners[0]
    await assert_holds((await pulled(server)).local, chain)


async def test_a_chain_that_was_pushed_is_read_from_memory(server: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    client, chain = Client(server), a_chain()
    for number in range(50):
        chain.info(f"change {number}")
    await fill(client.local, chain)
    asked: list[Cid] = []
    block = IpfsNode.block

    async def noted(self: IpfsNode, cid: Cid) -> bytes:
        asked.append(cid)
        return await block(self, cid)

    monkeypatch.setattr(IpfsNode, "block", noted)
    await client.push()
    await assert_holds((await pulled(server)).local, chain)
    assert len(asked) < 10


async def test_a_node_that_ends_and_comes_back_costs_no_more_than_the_time(tmp_path: Path) -> None:
    with running_node(tmp_path) as node:
        async with hosted_at(f"{node.rpc}/datasets", tmp_path) as server:
            first, chain = Client(server), a_chain()
            await fill(first.local, chain)
            await first.push()
            assert await ready(server) == (200, "")
            path = f"{server.path('weather')}/{data_key(hash_of(LARGE, chain))}"
    async with running(server.settings) as url, aiohttp.ClientSession() as session:
        again = Hosted(url, server.settings, server.repository, server.catalog, session)
        again.accounts, again.tokens = server.accounts, server.tokens
        status, reason = await ready(again)
        assert (status, "did not answer" in reason) == (503, True)
        assert (await again.ask("GET", "/system/health")).status == 200
        answer = await again.ask("GET", path, who="alice")
        assert (answer.status, answer.headers.get("Retry-After") is not None) == (503, True)
        client, longer = Client(again), chain.fork(len(chain.blocks))
        longer.data(b"while the node is away")
        await fill(client.local, longer)
        with pytest.raises(OdfError):
            await client.push()
        head = await again.ask("GET", f"{again.path('weather')}/refs/head", who="alice")
        assert head.text == str(chain.head)
        with running_node(tmp_path, api_port=URL(node.rpc).port or 0):
            assert await ready(again) == (200, "")
            await client.push()
            await assert_holds((await pulled(again)).local, longer)


async def test_a_node_that_hangs_is_told_within_the_time_that_clients_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running_js = running_node(tmp_path)
    with running_js as node:
        async with hosted_at(f"{node.rpc}/datasets", tmp_path) as server:
            chain = a_chain()
            await server.add("weather", chain)
            path = f"{server.path('weather')}/{data_key(hash_of(LARGE, chain))}"
            monkeypatch.setattr(open_module, "_AT_NODE", Patience(connect_s=1, silence_s=0.3, work_s=0.3))
            async with running(server.settings) as url, aiohttp.ClientSession() as session:
                impatient = Hosted(url, server.settings, server.repository, server.catalog, session)
                impatient.accounts, impatient.tokens = server.accounts, server.tokens
                os.kill(running_js.process.pid, signal.SIGSTOP)
                try:
                    assert (await ready(impatient))[0] == 503
                    assert (await impatient.ask("GET", path)).status == 503
                    client, longer = Client(impatient), chain.fork(len(chain.blocks))
                    longer.data(b"while the node hangs")
                    await fill(client.local, longer)
                    with pytest.raises(OdfError):
                        await client.push()
                finally:
                    os.kill(running_js.process.pid, signal.SIGCONT)
            assert await ready(server) == (200, "")
            client = Client(server)
            await fill(client.local, longer)
            await client.push()
            await assert_holds((await pulled(server)).local, longer)


async def test_the_command_makes_a_repository_where_a_node_answers(
    ipfs_node: NodeAddresses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{ipfs_node.rpc}/{uuid.uuid4().hex}"
    refused = await asyncio.to_thread(odf, "init", address)
    assert (refused.code, "ODF_CATALOG_URL" in refused.stderr) == (3, True)
    monkeypatch.setenv("ODF_CATALOG_URL", sqlite_url(tmp_path / "catalog.sqlite"))
    made = await asyncio.to_thread(odf, "init", address)
    assert (made.code, made.stdout) == (0, f"repository {address}\n".encode())
    nobody = await asyncio.to_thread(odf, "init", "kubo+http://127.0.0.1:1/datasets")
    assert (nobody.code, "did not answer" in nobody.stderr) == (7, True)


def test_a_repository_at_a_node_needs_a_catalog_elsewhere() -> None:
    settings = Settings.model_validate({"repo": "kubo+http://127.0.0.1:5001/datasets"})
    assert settings.repo == NodePlace("kubo+http://127.0.0.1:5001", "/datasets")
    with pytest.raises(MalformedInput, match="catalog_url") as refused:
        _ = settings.database_url
    assert refused.value.hint == "set ODF_CATALOG_URL"
