"""The Caddyfile in front of the real server: pushes, pulls, ranges, large and slow bodies pass through TLS unharmed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from opendatafabric.layout import data_key
from opendatafabric.multihash import physical_hash
from repo_server.config import Tenancy
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from sync.pull import pull_dataset
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.transfer import DatasetTarget
from tests.infra.caddy import running_caddy
from tests.repo_server.hosted import LARGE, Hosted, a_chain, hash_of, hosted
from tests.storage.s3.servers import free_port

pytestmark = pytest.mark.slow


@pytest.fixture
async def proxied(tmp_path: Path) -> AsyncIterator[tuple[Hosted, str, aiohttp.ClientSession]]:
    """A server, its address behind Caddy, and a session that trusts Caddy's authority."""
    port = free_port()
    url = f"https://localhost:{port}"
    async with (
        hosted(tmp_path, Tenancy.MULTI, public_url=url) as server,
        running_caddy(tmp_path, port, upstream=server.url.removeprefix("http://")) as session,
    ):
        yield server, url, session


async def filled() -> Dataset:
    builder, dataset = a_chain(), Dataset(MemoryObjectStore(), MemoryRefStore())
    await dataset.writable_objects().put_many({data_key(name): data for name, data in builder.slices.items()})
    await dataset.append(builder.blocks, expected_head=None)
    return dataset


async def test_a_push_and_a_pull_pass_through(proxied: tuple[Hosted, str, aiohttp.ClientSession]) -> None:
    server, url, session = proxied
    remote = parse_remote(f"odf+{url}/alice/weather")
    await push_dataset(session, await filled(), remote, token=server.tokens["alice"])
    copy = Dataset(MemoryObjectStore(), MemoryRefStore())
    await pull_dataset(session, remote, DatasetTarget(copy), token=server.tokens["alice"])
    assert await copy.head() == a_chain().head
    assert await copy.objects.read(data_key(hash_of(LARGE, a_chain()))) == LARGE


async def test_ranges_pass_through_uncompressed(proxied: tuple[Hosted, str, aiohttp.ClientSession]) -> None:
    server, url, session = proxied
    await server.add("open", a_chain())
    headers = {"Range": "bytes=5-99", "Accept-Encoding": "gzip, br, zstd"}
    async with session.get(f"{url}/alice/open/data/{hash_of(LARGE, a_chain())}", headers=headers) as response:
        assert (response.status, await response.read()) == (206, LARGE[5:100])
        assert response.headers["Content-Range"] == f"bytes 5-99/{len(LARGE)}"
        assert "Content-Encoding" not in response.headers


async def test_a_large_body_in_slow_pieces_passes_through(proxied: tuple[Hosted, str, aiohttp.ClientSession]) -> None:
    server, url, session = proxied
    await server.add("open", a_chain())
    data = os.urandom(24 * 1024 * 1024)

    async def slowly() -> AsyncIterator[bytes]:
        for start in range(0, len(data), 1024 * 1024):
            yield data[start : start + 1024 * 1024]
            await asyncio.sleep(0)

    address = f"{url}/alice/open/data/{physical_hash(data)}"
    headers = {**server.as_("alice"), "Content-Length": str(len(data))}
    async with session.put(address, data=slowly(), headers=headers) as response:
        assert response.status == 200
    async with session.get(address) as response:
        assert await response.read() == data
