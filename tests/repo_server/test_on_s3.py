"""Servers in front of S3: objects go straight to and from the store, and nothing unproved is ever published."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from botocore import auth

from catalog.sqlite_files import sqlite_url
from opendatafabric.errors import MalformedInput, OdfError, PeerUnavailable
from opendatafabric.layout import INFO_ALIAS, data_key
from opendatafabric.metadata.sources import MergeStrategySnapshot
from repo_server.app import running
from repo_server.config import Settings, Tenancy
from storage.open import open_dataset
from storage.s3.location import S3Location
from sync.objects import Uploads
from sync.smart import pull
from sync.smart.messages import TransferUrl
from tests.cli.runner import odf
from tests.pipeline.datasets import csv_source
from tests.repo_server.hosted import LARGE, Hosted, a_chain, hash_of, hosted
from tests.repo_server.ingested import add_root, engine_without_spark, push
from tests.repo_server.test_transfers import Client
from tests.storage.s3.servers import S3Server
from tests.storage.s3.test_objects import names_in
from tests.suites.collecting import keys_of, store_all
from tests.suites.dataset import stored_keys
from tests.sync.scenarios.stage import assert_holds, fill

pytestmark = pytest.mark.slow


@pytest.fixture
def place(s3_place: S3Location) -> S3Location:
    """Where the repository lies."""
    return s3_place


@pytest.fixture
async def server(place: S3Location, tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(
        tmp_path, Tenancy.MULTI, address=str(place), catalog_url=sqlite_url(tmp_path / "catalog.sqlite")
    ) as running_server:
        yield running_server


async def test_a_push_and_a_pull_pass_the_server_by(
    server: Hosted, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    send = Uploads.send

    async def noted(self: Uploads, file: object, url: TransferUrl) -> None:
        asked.append(url.url)
        assert url.expires_at is not None
        await send(self, file, url)  # type: ignore[arg-type]

    monkeypatch.setattr(Uploads, "send", noted)
    client, chain = Client(server), a_chain()
    await fill(client.local, chain)
    await client.push()
    assert len(asked) == 2
    assert all(url.startswith(s3_server.endpoint) and "/.pending/" in url for url in asked)
    reader = Client(server)
    await reader.pull()
    await assert_holds(reader.local, chain)


async def test_objects_are_served_by_the_server_too_in_ranges(server: Hosted) -> None:
    chain = a_chain()
    await server.add("weather", chain)
    name = hash_of(LARGE, chain)
    path = f"{server.path('weather')}/{data_key(name)}"
    whole = await server.ask("GET", path)
    assert (whole.status, whole.body, whole.headers["ETag"]) == (200, LARGE, f'"{name}"')
    part = await server.ask("GET", path, headers={"Range": "bytes=10-19"})
    assert (part.status, part.body) == (206, LARGE[10:20])
    assert part.headers["Content-Range"] == f"bytes 10-19/{len(LARGE)}"
    assert (await server.ask("GET", path, headers={"Range": f"bytes={len(LARGE)}-"})).status == 416
    assert (await server.ask("GET", path, headers={"If-None-Match": f'"{name}"'})).status == 304
    head = await server.ask("HEAD", path)
    assert (head.status, head.headers["Content-Length"], head.body) == (200, str(len(LARGE)), b"")
    absent = f"{server.path('weather')}/{data_key(chain.head)}"
    assert (await server.ask("GET", absent)).status == 404


@pytest.mark.parametrize("deed", ["never uploaded", "other bytes"])
async def test_a_push_of_what_never_came_or_is_something_else_is_refused(
    server: Hosted, place: S3Location, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    client, chain = Client(server), a_chain()
    await fill(client.local, chain)

    async def lied(self: Uploads, file: object, url: TransferUrl) -> None:
        if deed == "other bytes":
            size = file.size  # type: ignore[attr-defined]
            async with server.session.put(url.url, data=bytes(size)) as response:
                assert response.status == 200
        self._counter.finished()

    with monkeypatch.context() as patched:
        patched.setattr(Uploads, "send", lied)
        with pytest.raises(OdfError):
            await client.push()
    assert (await server.ask("GET", f"{server.path('weather')}/refs/head", who="alice")).status == 404
    assert [name for name in names_in(place) if "/data/" in name] == []
    await client.push()
    reader = Client(server)
    await reader.pull()
    await assert_holds(reader.local, chain)
    await (await client.remote()).writable_objects().expire_quarantine(before=time.time() + 60)
    assert [name for name in names_in(place) if "/.pending/" in name] == []


def signing_long_ago(monkeypatch: pytest.MonkeyPatch, addresses: int) -> list[datetime]:
    """Make so many addresses expire before anybody uses them; when each was signed."""
    genuine, signed = auth.get_current_datetime, []

    def said(*arguments: object, **named: object) -> datetime:
        now = genuine(*arguments, **named)
        signed.append(now - timedelta(days=1) if len(signed) < addresses else now)
        return signed[-1]

    monkeypatch.setattr(auth, "get_current_datetime", said)
    return signed


async def test_addresses_that_expired_are_signed_anew_for_uploads(
    server: Hosted, place: S3Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, chain = Client(server), a_chain()
    await fill(client.local, chain)
    signed = signing_long_ago(monkeypatch, 2)
    await client.push()
    assert len(signed) == 4
    await client.assert_remote_holds(chain)


@pytest.mark.parametrize("page", [1, 1_000])
async def test_addresses_that_expired_are_signed_anew_for_downloads_page_by_page(
    server: Hosted, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    chain = a_chain()
    await server.add("weather", chain)
    monkeypatch.setattr(pull, "OBJECTS_PER_REQUEST_MAX", page)
    signed = signing_long_ago(monkeypatch, 1)
    reader = Client(server)
    await reader.pull()
    assert len(signed) == 3, "only the one that had expired was signed again"
    await assert_holds(reader.local, chain)


async def test_servers_without_signed_addresses_take_objects_themselves(place: S3Location, tmp_path: Path) -> None:
    catalog_url = sqlite_url(tmp_path / "catalog.sqlite")
    async with hosted(
        tmp_path, Tenancy.MULTI, address=str(place), catalog_url=catalog_url, signed_urls=False
    ) as server:
        client, chain = Client(server), a_chain()
        await fill(client.local, chain)
        await client.push()
        reader = Client(server)
        await reader.pull()
        await assert_holds(reader.local, chain)


async def test_of_pushes_through_two_servers_one_wins_each_round(server: Hosted) -> None:
    client, builder = Client(server), a_chain()
    await fill(client.local, builder)
    await client.push()
    async with running(server.settings) as other_url:
        other = Hosted(other_url, server.settings, server.repository, server.catalog, server.session)
        other.accounts, other.tokens = server.accounts, server.tokens
        for number in range(5):
            rivals = [builder.fork(len(builder.blocks)) for _ in range(2)]
            pushing = []
            for at, (where, rival) in enumerate(zip((server, other), rivals, strict=True)):
                rival.info(f"round {number}, rival {at}")
                pusher = Client(where)
                await fill(pusher.local, rival)
                pushing.append(pusher.push())
            ended = await asyncio.gather(*pushing, return_exceptions=True)
            winners = [rival for rival, each in zip(rivals, ended, strict=True) if not isinstance(each, BaseException)]
            assert len(winners) == 1, ended
            assert all(isinstance(each, OdfError) for each in ended if isinstance(each, BaseException))
            assert not any(isinstance(each, PeerUnavailable) for each in ended)
            builder = winners[0]
    reader = Client(server)
    await reader.pull()
    await assert_holds(reader.local, builder)


async def test_the_commands_make_a_repository_in_s3_and_take_what_one_holds(place: S3Location, tmp_path: Path) -> None:
    made = await asyncio.to_thread(odf, "init", str(place))
    assert (made.code, made.stdout) == (0, f"repository {place}\n".encode())
    chain = a_chain()
    dataset = open_dataset(str(place.below("one")))
    await fill(dataset, chain)
    local = tmp_path / "local"
    assert (await asyncio.to_thread(odf, "init", str(local))).code == 0
    pulled = await asyncio.to_thread(odf, "pull", "--repo", str(local), str(place.below("one")), "--as", "weather")
    assert pulled.code == 0, pulled.stderr
    pushed = await asyncio.to_thread(odf, "push", "--repo", str(local), "weather", "--to", str(place.below("two")))
    assert pushed.code == 0, pushed.stderr
    assert await open_dataset(str(place.below("two"))).head() == chain.head


def test_a_repository_in_s3_needs_a_catalog_elsewhere() -> None:
    settings = Settings.model_validate({"repo": "s3://bucket/prefix"})
    assert settings.repo == S3Location("bucket", "prefix")
    with pytest.raises(MalformedInput, match="catalog_url") as refused:
        _ = settings.database_url
    assert refused.value.hint == "set ODF_CATALOG_URL"


async def test_the_server_collects_garbage_by_itself(place: S3Location, tmp_path: Path) -> None:
    settings = {"gc_interval_s": 0.05, "gc_grace_s": 0, "catalog_url": sqlite_url(tmp_path / "catalog.sqlite")}
    async with hosted(tmp_path, Tenancy.MULTI, address=str(place), **settings) as server:
        entry = await server.add("open", a_chain())
        garbage = a_chain().fork(1)
        garbage.slices.clear()
        garbage.data(b"garbage")
        await store_all(entry.dataset, garbage)
        async with asyncio.timeout(20):
            while await stored_keys(entry.dataset) - {INFO_ALIAS} != keys_of(a_chain()):
                await asyncio.wait([asyncio.ensure_future(asyncio.to_thread(lambda: None))], timeout=0.01)
        await assert_holds(entry.dataset, a_chain())


@pytest.mark.slow
async def test_data_enter_over_http_and_earlier_slices_are_fetched_to_compare_with(
    place: S3Location, tmp_path: Path
) -> None:
    settings = {"address": str(place), "catalog_url": sqlite_url(tmp_path / "catalog.sqlite")}
    engine = engine_without_spark(tmp_path / "engine")
    async with hosted(tmp_path, Tenancy.MULTI, engine=engine, **settings) as server:
        dataset = await add_root(server, "cities", csv_source(MergeStrategySnapshot(("city",))))
        await push(server)
        shutil.rmtree(tmp_path / "engine" / "projections")
        answer = await push(server, b"city,population\nkyiv,4\nlviv,1\n", Idempotency_Key="one")
        assert json.loads(answer.body)["rows"] == {"read": 2, "appended": 0, "retracted": 0, "corrected": 1}
        assert json.loads(answer.body)["newHead"] == str(await dataset.head())
        again = await push(server, b"city,population\nkyiv,4\nlviv,1\n", Idempotency_Key="one")
        assert again.body == answer.body
    assert server.settings.incoming_path == tmp_path / ".incoming"
