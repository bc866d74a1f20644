"""Stores that do not honour conditional writes are refused at the start, told or silently."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import uuid
from collections.abc import Iterator

import pytest

from opendatafabric.errors import UnsupportedOperation
from opendatafabric.multihash import physical_hash
from storage.open import init_repository, open_repository
from storage.s3 import client as client_module
from storage.s3.client import bucket_at
from storage.s3.location import S3Location, parse_s3_address
from storage.s3.refs import S3RefStore
from tests.cli.runner import odf
from tests.storage.s3.proxy import S3Proxy, answering, s3_proxy
from tests.storage.s3.servers import ROOT, moto
from tests.storage.s3.test_objects import names_in

pytestmark = pytest.mark.slow

A = physical_hash(b"a")
CREATION, CHANGE = frozenset({"if-none-match"}), frozenset({"if-match"})


@pytest.fixture(scope="module")
def proxy() -> Iterator[S3Proxy]:
    """A server that checks no signatures, so that headers can be lost on the way to it."""
    with moto() as server, s3_proxy(server) as proxy:
        yield proxy


@pytest.fixture
def place(proxy: S3Proxy) -> Iterator[S3Location]:
    """An empty place in it, of which nothing is known yet."""
    proxy.calm()
    bucket_at.cache_clear()
    yield parse_s3_address(f"{proxy.address}deaf/{uuid.uuid4().hex}")
    proxy.deaf_to = frozenset()
    bucket_at.cache_clear()


@pytest.mark.parametrize(
    ("deaf_to", "named"), [(CREATION, "If-None-Match"), (CHANGE, "If-Match"), (CREATION | CHANGE, "If-")]
)
async def test_a_store_that_ignores_conditions_gets_no_repository_and_no_heads(
    proxy: S3Proxy, place: S3Location, deaf_to: frozenset[str], named: str
) -> None:
    proxy.deaf_to = deaf_to
    with pytest.raises(UnsupportedOperation, match=named) as refused:
        await init_repository(str(place))
    assert "conditional writes" in str(refused.value.hint)
    with pytest.raises(UnsupportedOperation, match=named):
        await S3RefStore(place).compare_and_swap("head", expected=None, new=A)
    assert names_in(place) == set()


async def test_a_repository_that_moved_to_such_a_store_is_not_opened(proxy: S3Proxy, place: S3Location) -> None:
    await init_repository(str(place))
    proxy.deaf_to = CREATION
    bucket_at.cache_clear()
    with pytest.raises(UnsupportedOperation, match="If-None-Match"):
        await open_repository(str(place))


async def test_a_store_that_says_it_does_not_know_conditions_is_refused(
    proxy: S3Proxy, place: S3Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "S3_RETRIES_MAX", 0)
    proxy.strike(answering(501, "NotImplemented"), "swap", times=math.inf)
    with pytest.raises(UnsupportedOperation, match="501 NotImplemented") as refused:
        await init_repository(str(place))
    assert "conditional writes" in str(refused.value.hint)
    assert names_in(place) == set()


def test_the_commands_say_why_and_the_server_does_not_start(proxy: S3Proxy, place: S3Location) -> None:
    asyncio.run(init_repository(str(place)))
    proxy.deaf_to = CHANGE
    bucket_at.cache_clear()
    ran = odf("list", "--repo", place)
    assert ran.code != 0
    assert "this store cannot keep heads" in ran.stderr
    assert asyncio.run(_served(place)) == (1, True)


async def _served(place: S3Location) -> tuple[int | None, bool]:
    """How a server over ``place`` ends, and whether it says why."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cli.main", "serve", "--port", "0", "--repo", str(place)),
        cwd=ROOT,
        env={**os.environ, "ODF_CATALOG_URL": "sqlite+aiosqlite:///:memory:"},
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await asyncio.wait_for(server.communicate(), 60)
    return server.returncode, b"this store cannot keep heads" in said
