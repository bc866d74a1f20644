"""A server in front of S3 answers pulls of long chains without asking the store for block after block."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from catalog.sqlite_files import sqlite_url
from repo_server.app import running
from repo_server.config import Settings, Tenancy
from tests.repo_server.hosted import Hosted, hosted
from tests.repo_server.test_transfers import Client
from tests.storage.chains import ChainBuilder, chain
from tests.storage.s3.proxy import S3Proxy, s3_proxy
from tests.storage.s3.servers import KEYS, versitygw
from tests.sync.scenarios.stage import assert_holds, fill

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Proxy]:
    with versitygw(tmp_path_factory.mktemp("versitygw") / "buckets") as server, s3_proxy(server) as running_proxy:
        yield running_proxy


@pytest.fixture
async def server(proxied: S3Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hosted]:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    place, catalog_url = f"{proxied.address}{tmp_path.name}", sqlite_url(tmp_path / "catalog.sqlite")
    async with hosted(tmp_path, Tenancy.MULTI, address=place, catalog_url=catalog_url) as running_server:
        yield running_server


async def pulled_from(server: Hosted, url: str, builder: ChainBuilder) -> None:
    """A client without anything pulls all."""
    asked = Hosted(url, server.settings, server.repository, server.catalog, server.session)
    asked.accounts, asked.tokens = server.accounts, server.tokens
    client = Client(asked)
    await client.pull()
    await assert_holds(client.local, builder)


async def indexed(server: Hosted, builder: ChainBuilder) -> None:
    """Until the server has read the chain for its pages, which it does once; there is no event of it."""
    async with asyncio.timeout(100):
        while (await server.catalog.dataset_facts.heads()).get(builder.id) != str(builder.head):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def blocks_asked(proxy: S3Proxy) -> int:
    return sum(each.deed == "get" and "/blocks/" in each.path for each in proxy.asked)


@pytest.mark.parametrize("length", [1_250, pytest.param(10_000, marks=pytest.mark.slow)])
async def test_a_long_chain_is_pulled_in_few_requests_by_servers_that_never_saw_it(
    server: Hosted, proxied: S3Proxy, tmp_path: Path, length: int
) -> None:
    builder = chain([f"block {number}" for number in range(1, length + 30)])
    publisher = Client(server)
    await fill(publisher.local, builder)
    await publisher.push()
    elsewhere = {"cache_folder": tmp_path / "another machine"}
    settings = Settings.model_validate({**server.settings.model_dump(), **elsewhere})
    await indexed(server, builder)
    proxied.calm()
    async with running(settings) as url:
        await pulled_from(server, url, builder)
        assert blocks_asked(proxied) < 200
        assert len(proxied.asked) < 200 + length // 50
        proxied.calm()
        await pulled_from(server, url, builder)
        assert blocks_asked(proxied) == 0, "the answer was kept"
        builder.info("one more")
        await publisher.local.append(builder.blocks[-1:], expected_head=builder.blocks[-2].hash)
        await publisher.push()
        proxied.calm()
        await pulled_from(server, url, builder)
        assert blocks_asked(proxied) < 100
        assert proxied.deeds["get"] - blocks_asked(proxied) < 20, "segments lie near"
