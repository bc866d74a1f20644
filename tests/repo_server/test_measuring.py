"""What requests ask of stores is counted, timed and told under ``/metrics``, by store, operation and outcome."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from catalog.sqlite_files import sqlite_url
from repo_server.config import Tenancy
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.s3.location import S3Location
from sync.pull import pull_dataset
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.transfer import DatasetTarget
from tests.repo_server.background.test_mirror import stored
from tests.repo_server.hosted import LARGE, SMALL, Hosted, a_chain, hash_of, hosted
from tests.storage.s3.conftest import keys, location, s3_server

pytestmark = pytest.mark.slow

__all__ = ["keys", "location", "s3_server"]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI) as running_server:
        yield running_server


async def figure(server: Hosted, name: str, **labels: str) -> float:
    """The sum of a metric over all that have these labels."""
    text = (await server.ask("GET", "/metrics", who="root")).text
    rows = re.findall(rf"^{name}\{{(.*)\}} (\S+)$", text, re.MULTILINE)
    wanted = {f'{label}="{value}"' for label, value in labels.items()}
    return sum(float(value) for given, value in rows if wanted <= set(given.split(",")))


async def test_reading_a_head_is_counted_and_timed(server: Hosted) -> None:
    await server.add("weather", a_chain())
    for _ in range(3):
        assert (await server.ask("GET", "/alice/weather/refs/head")).status == 200
    assert await figure(server, "odf_store_operations_total", store="folder", operation="read_ref", outcome="ok") == 3
    assert await figure(server, "odf_store_operation_seconds_count", store="folder", operation="read_ref") == 3


async def test_a_push_and_a_pull_show_with_their_bytes(server: Hosted) -> None:
    remote = parse_remote(f"odf+{server.url}/alice/weather")
    async with aiohttp.ClientSession() as session:
        await push_dataset(session, await stored(a_chain()), remote, token=server.tokens["alice"])
        target = DatasetTarget((await stored(a_chain(2))).over(MemoryObjectStore(), MemoryRefStore()))
        await pull_dataset(session, remote, target, token=server.tokens["alice"])
    assert await figure(server, "odf_store_bytes_total", store="folder", direction="in") >= len(SMALL + LARGE)
    assert await figure(server, "odf_store_bytes_total", store="folder", direction="out") > 0
    assert await figure(server, "odf_store_operations_total", operation="compare_and_swap", outcome="ok") == 1


async def test_what_went_wrong_shows_by_its_code(server: Hosted) -> None:
    entry = await server.add("weather", a_chain())
    (entry.folder / "refs" / "head").write_text("no hash")
    assert (await server.ask("GET", "/alice/weather/refs/head")).status == 500
    assert await figure(server, "odf_store_operations_total", outcome="malformed-identifier", operation="read_ref") >= 1


async def test_what_is_asked_of_s3_shows_and_its_addresses_are_signed_all_the_same(
    location: S3Location, tmp_path: Path
) -> None:
    catalog_url = sqlite_url(tmp_path / "catalog.sqlite")
    async with hosted(tmp_path, Tenancy.MULTI, address=str(location), catalog_url=catalog_url) as server:
        remote = parse_remote(f"odf+{server.url}/alice/weather")
        async with aiohttp.ClientSession() as session:
            await push_dataset(session, await stored(a_chain()), remote, token=server.tokens["alice"])
            path = f"/alice/weather/data/{hash_of(SMALL, a_chain())}"
            assert (await server.ask("GET", path, who="alice")).body == SMALL
        assert await figure(server, "odf_store_operations_total", store="s3", operation="put_many", outcome="ok") == 1
        assert await figure(server, "odf_store_bytes_total", store="s3", direction="out") >= len(SMALL)
        # The objects themselves went straight to the store.
        assert await figure(server, "odf_store_bytes_total", store="s3", direction="in") < len(LARGE)


async def test_what_is_asked_of_an_upstream_shows(server: Hosted, tmp_path: Path) -> None:
    await server.add("weather", a_chain())
    async with hosted(tmp_path / "front", Tenancy.MULTI, upstream=server.url) as front:
        for _ in range(2):
            answer = await front.ask("GET", f"/alice/weather/data/{hash_of(LARGE, a_chain())}")
            assert answer.body == LARGE
        fetched = await figure(front, "odf_store_bytes_total", store="upstream", direction="out")
        assert len(LARGE) <= fetched < 2 * len(LARGE)
