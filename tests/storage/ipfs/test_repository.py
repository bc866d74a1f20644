"""Repositories at an IPFS node: the contract, and what becomes of bytes that nobody needs while the node is away."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from catalog.catalog import Catalog, open_catalog
from catalog.sqlite_files import sqlite_url
from opendatafabric.errors import (
    DatasetNotFound,
    MalformedIdentifier,
    NotARepository,
    ObjectNotFound,
    TransientStorageError,
    UnsupportedOperation,
)
from opendatafabric.ipfs.cid import Cid
from opendatafabric.ipfs.unixfs import import_file
from opendatafabric.layout import block_key
from storage import open as open_module
from storage.ipfs.node import IpfsNode
from storage.ipfs.objects import IpfsObjectStore
from storage.ipfs.repository import IpfsRepository
from storage.ipfs.rpc import Patience
from storage.open import Connection, init_repository, open_dataset, open_repository
from tests.ipfs.node import NodeAddresses
from tests.storage.chains import chain, dataset_id
from tests.storage.ipfs.scripted_node import ScriptedNode, scripted
from tests.suites.object_store import key_of
from tests.suites.repository import RepositorySuite, add, alias, listed

pytestmark = pytest.mark.slow


def cid_of_file(data: bytes) -> Cid:
    return import_file(data, lambda block: None).cid


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[Catalog]:
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as catalog:
        yield catalog


@pytest.fixture
async def connection(catalog: Catalog) -> AsyncIterator[Connection]:
    async with aiohttp.ClientSession() as session:
        yield Connection(session, tables=catalog.stores, cache_bytes_max=1_000_000)


@pytest.fixture
async def repository(ipfs_node: NodeAddresses, connection: Connection) -> IpfsRepository:
    made = await init_repository(f"{ipfs_node.rpc}/datasets", connection)
    assert isinstance(made, IpfsRepository)
    return made


class TestIpfsRepository(RepositorySuite):
    @pytest.fixture(autouse=True)
    def remember(self, connection: Connection) -> None:
        self.connection = connection

    def opened_again(self, repository: IpfsRepository) -> IpfsRepository:
        return IpfsRepository(repository._node, repository._tables, repository.place)


async def test_a_repository_is_found_by_the_path_of_its_address_alone(
    repository: IpfsRepository, connection: Connection
) -> None:
    await add(repository, "foo", 1)
    assert await listed(await open_repository("kubo+http://127.0.0.1:1/datasets/", connection)) == ["foo"]
    with pytest.raises(NotARepository, match="the catalog knows no repository"):
        await open_repository(f"{repository.place}2", connection)


async def test_without_a_catalog_there_is_none(repository: IpfsRepository) -> None:
    with pytest.raises(UnsupportedOperation, match="catalog"):
        await open_repository(str(repository.place))


async def test_none_is_made_where_no_node_answers(connection: Connection) -> None:
    with pytest.raises(TransientStorageError, match="did not answer"):
        await init_repository("kubo+http://127.0.0.1:1/datasets", connection)
    with pytest.raises(NotARepository):
        await open_repository("kubo+http://127.0.0.1:1/datasets", connection)


async def test_a_secret_in_the_address_is_not_repeated(connection: Connection) -> None:
    with pytest.raises(MalformedIdentifier) as refused:
        await open_repository("kubo+http://user:hidden@127.0.0.1:5001/x", connection)
    assert "hidden" not in str(refused.value.as_dict())


async def test_a_dataset_of_it_is_opened_alone_by_an_address_below(
    repository: IpfsRepository, connection: Connection
) -> None:
    await add(repository, "foo", 1)
    alone = open_dataset(str(repository.place.below(dataset_id(1).multibase)), connection)
    assert await alone.head() == chain(["x"], number=1).head


async def test_what_one_dataset_has_in_the_cache_another_does_not_read(repository: IpfsRepository) -> None:
    ours = await add(repository, "ours", 1)
    theirs = await repository.create(alias("theirs"), dataset_id(2))
    key = block_key(chain(["x"], number=1).head)
    assert await ours.dataset.objects.read(key)
    with pytest.raises(ObjectNotFound):
        await theirs.dataset.objects.read(key)


async def test_a_head_does_not_come_back_to_a_dataset_that_was_deleted(repository: IpfsRepository) -> None:
    entry = await repository.create(alias("foo"), dataset_id(1))
    await repository.delete(dataset_id(1))
    with pytest.raises(DatasetNotFound):
        await entry.dataset.append(chain(["x"], number=1).blocks, expected_head=None)
    again = await repository.create(alias("foo"), dataset_id(1))
    assert again.pending


async def test_what_a_deleted_dataset_alone_had_is_unpinned_by_the_next_sweep(repository: IpfsRepository) -> None:
    own, shared = os.urandom(50), os.urandom(50)
    for number, name in enumerate(("foo", "bar"), 1):
        store = (await add(repository, name, number)).dataset.writable_objects()
        await store.put(key_of(shared), shared)
        if name == "foo":
            await store.put(key_of(own), own)
    await repository.delete(alias("foo"))
    assert await repository._node.has_pinned(cid_of_file(own))
    await repository.sweep(unused_for_s=3600)
    assert not await repository._node.has_pinned(cid_of_file(own))
    assert await repository._node.has_pinned(cid_of_file(shared))


async def test_what_could_not_be_unpinned_is_when_the_node_answers_again(
    repository: IpfsRepository, catalog: Catalog
) -> None:
    data = os.urandom(50)
    entry = await add(repository, "foo", 1)
    await entry.dataset.writable_objects().put(key_of(data), data)
    place = repository.place.below(dataset_id(1).multibase).path
    async with scripted(ScriptedNode({"pin/rm": (503, b"")})) as rpc:
        away = IpfsObjectStore(IpfsNode(rpc), catalog.stores.files(place), catalog.stores.leases(place))
        await away.delete(key_of(data))
        with pytest.raises(ObjectNotFound):
            await away.read(key_of(data))
    assert await catalog.stores.files(place).released() == [cid_of_file(data)]
    await repository.sweep(unused_for_s=3600)
    assert not await repository._node.has_pinned(cid_of_file(data))
    assert await catalog.stores.files(place).released() == []


async def test_what_was_released_and_is_needed_again_stays_pinned(repository: IpfsRepository, catalog: Catalog) -> None:
    data = os.urandom(50)
    store = (await add(repository, "foo", 1)).dataset.writable_objects()
    await store.put(key_of(data), data)
    await repository.delete(alias("foo"))
    await (await add(repository, "foo", 1)).dataset.writable_objects().put(key_of(data), data)
    await repository.sweep(unused_for_s=3600)
    assert await repository._node.has_pinned(cid_of_file(data))


async def test_a_node_that_hangs_is_told_soon(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    monkeypatch.setattr(open_module, "_AT_NODE", Patience(silence_s=0.2))
    try:
        port = server.sockets[0].getsockname()[1]
        async with aiohttp.ClientSession() as session:
            with pytest.raises(TransientStorageError, match="did not answer"):
                await init_repository(f"kubo+http://127.0.0.1:{port}/x", Connection(session, tables=catalog.stores))
    finally:
        server.close()
