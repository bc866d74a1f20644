"""Objects at a real IPFS node: the contracts of stores, and what may happen between the node and the table."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import urllib.request
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from catalog.catalog import Catalog, open_catalog
from catalog.sqlite_files import sqlite_url
from opendatafabric.errors import (
    HashMismatch,
    ObjectNotFound,
    StorageFull,
    TransientStorageError,
    UnsupportedOperation,
)
from opendatafabric.ipfs.car import CarReader
from opendatafabric.ipfs.cid import Cid
from opendatafabric.ipfs.unixfs import import_file
from opendatafabric.layout import block_key
from storage.dataset import Dataset
from storage.ipfs.node import IpfsNode
from storage.ipfs.objects import IpfsObjectStore
from storage.ipfs.rpc import KuboRpc, Patience
from storage.ipfs.table import FileTable, HeldFile
from storage.memory import MemoryObjectStore
from storage.open import Connection, open_dataset
from storage.protocols import LeaseStore, ObjectReader, RefStore
from storage.scrub import scrub
from storage.values import WriteMode
from tests.ipfs.node import NodeAddresses
from tests.storage.chains import chain
from tests.storage.ipfs.scripted_node import ScriptedNode
from tests.suites.dataset import DatasetSuite
from tests.suites.object_store import ObjectStoreSuite, key_of, pieces_of, read_all
from tests.suites.ref_store import RefStoreSuite

pytestmark = pytest.mark.slow

PLACE = "/weather"


def part(catalog: Catalog, place: str = PLACE) -> tuple[FileTable, LeaseStore]:
    """The tables of one place."""
    return catalog.stores.files(place), catalog.stores.leases(place)


def cid_of_file(data: bytes) -> Cid:
    return import_file(data, lambda block: None).cid


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "catalog.sqlite"


@pytest.fixture
async def catalog(database: Path) -> AsyncIterator[Catalog]:
    async with open_catalog(sqlite_url(database)) as catalog:
        yield catalog


@pytest.fixture
def node(ipfs_node: NodeAddresses, session: aiohttp.ClientSession) -> IpfsNode:
    return IpfsNode(KuboRpc(session, ipfs_node.rpc, patience=Patience(connect_s=5, silence_s=3, work_s=30)))


@pytest.fixture
def store(node: IpfsNode, catalog: Catalog) -> IpfsObjectStore:
    return IpfsObjectStore(node, *part(catalog))


class TestIpfsObjects(ObjectStoreSuite):
    @pytest.fixture(autouse=True)
    def remember(self, ipfs_node: NodeAddresses, database: Path) -> None:
        self.rpc, self.database = ipfs_node.rpc.removeprefix("kubo+"), database

    def plant(self, store: ObjectReader, key: str, data: bytes) -> None:
        cid = self._add(data)
        with sqlite3.connect(self.database) as connection:
            row = (PLACE, key, bytes(cid), len(data), 0.0)
            connection.execute("INSERT OR REPLACE INTO named_files VALUES (?, ?, ?, ?, ?)", row)
        connection.close()

    def _add(self, data: bytes) -> Cid:
        form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n'
        form += b"Content-Type: application/octet-stream\r\n\r\n" + data + b"\r\n--x--\r\n"
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        url = f"{self.rpc}/api/v0/add?cid-version=1&raw-leaves=true&progress=false&cid-base=base32"
        with urllib.request.urlopen(urllib.request.Request(url, form, headers)) as response:
            return Cid.from_text(json.loads(response.read())["Hash"])


class TestRefsInTheCatalog(RefStoreSuite):
    @pytest.fixture
    def refs(self, catalog: Catalog) -> RefStore:
        return catalog.stores.refs(PLACE)


class TestDatasetInIpfs(DatasetSuite):
    @pytest.fixture
    def dataset(self, store: IpfsObjectStore, catalog: Catalog) -> Dataset:
        return Dataset(store, catalog.stores.refs(PLACE))


async def test_places_do_not_see_each_other(node: IpfsNode, catalog: Catalog, store: IpfsObjectStore) -> None:
    other = IpfsObjectStore(node, *part(catalog, PLACE + "-2"))
    await store.put(key_of(b"mine"), b"mine")
    assert [info async for info in other.list()] == []
    with pytest.raises(ObjectNotFound):
        await other.read(key_of(b"mine"))
    await catalog.stores.refs(PLACE).compare_and_swap("head", expected=None, new=chain(["a"]).head)
    assert await catalog.stores.refs(PLACE + "-2").read("head") is None


async def test_bytes_are_kept_while_any_dataset_names_them(
    node: IpfsNode, catalog: Catalog, store: IpfsObjectStore
) -> None:
    other = IpfsObjectStore(node, *part(catalog, PLACE + "-2"))
    data = os.urandom(100)
    await store.put(key_of(data), data)
    await other.put(key_of(data), data)
    await store.delete(key_of(data))
    assert await node.has_pinned(cid_of_file(data))
    assert await other.read(key_of(data)) == data
    await other.delete(key_of(data))
    assert not await node.has_pinned(cid_of_file(data))


async def test_what_was_replaced_or_discarded_is_kept_no_longer(node: IpfsNode, store: IpfsObjectStore) -> None:
    wrong, right, never = (os.urandom(100) for _ in range(3))
    await store.put(key_of(right), wrong)
    await store.put(key_of(right), right)
    await store.discard(await store.quarantine(pieces_of(never), size_max=100))
    kept = [await node.has_pinned(cid_of_file(data)) for data in (wrong, right, never)]
    assert kept == [False, True, False]


async def test_what_was_never_published_is_swept(node: IpfsNode, store: IpfsObjectStore) -> None:
    data = os.urandom(100)
    quarantined = await store.quarantine(pieces_of(data), size_max=100)
    await store.expire_quarantine(before=0.0)
    assert await node.has_pinned(cid_of_file(data))
    await store.expire_quarantine(before=4e9)
    assert not await node.has_pinned(cid_of_file(data))
    with pytest.raises(ObjectNotFound):
        await store.publish(quarantined, key_of(data))


async def test_putting_and_deleting_the_same_bytes_at_once_loses_none_that_are_named(
    node: IpfsNode, catalog: Catalog
) -> None:
    data = os.urandom(1000)
    stores = [IpfsObjectStore(node, *part(catalog, f"{PLACE}-{i}")) for i in range(6)]
    for _ in range(5):
        puts = [store.put(key_of(data), data) for store in stores[:3]]
        deletes = [store.delete(key_of(data)) for store in stores[3:]]
        await asyncio.gather(*puts, *deletes)
        assert await node.has_pinned(cid_of_file(data))
        await asyncio.gather(*(store.delete(key_of(data)) for store in stores[:2]), stores[3].put(key_of(data), data))
        assert await node.has_pinned(cid_of_file(data))


async def test_many_small_objects_go_in_few_requests() -> None:
    objects = {key_of(b"%d" % i): b"%d" % i for i in range(1200)}
    node = Importing()
    async with memory_store(node) as store:
        await store.put_many(objects)
        assert {info.key async for info in store.list()} == set(objects)
    assert len(node.requests) == 3


class Importing(ScriptedNode):
    """A node that imports whatever it is sent, unless told otherwise."""

    async def answer(self, request):  # type: ignore[no-untyped-def]
        if request.match_info["command"] == "dag/import" and "dag/import" not in self.answers:
            reader = CarReader()
            body = await request.read()
            start = body.index(b"\r\n\r\n") + 4
            list(reader.feed(body[start : body.rindex(b"\r\n--")]))
            line = '{"Root":{"Cid":{"/":"%s"},"PinErrorMsg":""}}\n'
            self.requests.append(request)
            return web.Response(text="".join(line % cid for cid in reader.roots))
        return await super().answer(request)


class memory_store:  # noqa: N801  used as a function
    """A store at a scripted node, its table in memory."""

    def __init__(self, node: ScriptedNode) -> None:
        self._node = node

    async def __aenter__(self) -> IpfsObjectStore:
        self._server = TestServer(self._node.application())
        await self._server.start_server()
        self._session = aiohttp.ClientSession()
        self._catalog = open_catalog("sqlite+aiosqlite:///:memory:")
        catalog = await self._catalog.__aenter__()
        rpc = KuboRpc(self._session, f"kubo+{self._server.make_url('')}", patience=Patience(1, 1, 1))
        return IpfsObjectStore(IpfsNode(rpc), *part(catalog))

    async def __aexit__(self, *_: object) -> None:
        await self._catalog.__aexit__(None, None, None)
        await self._session.close()
        await self._server.close()


@pytest.mark.parametrize(
    ("command", "status", "body", "error"),
    [
        ("dag/import", 503, b"", TransientStorageError),
        ("dag/import", 500, b'{"Message":"write: no space left on device","Code":0}', StorageFull),
        ("dag/import", 200, b"", TransientStorageError),
    ],
)
async def test_a_node_that_cannot_store_names_nothing(
    command: str, status: int, body: bytes, error: type[Exception]
) -> None:
    node = ScriptedNode({command: (status, body), "pin/rm": (200, b"{}")})
    async with memory_store(node) as store:
        with pytest.raises(error):
            await store.put(key_of(b"x"), b"x")
        assert [info async for info in store.list()] == []


async def test_a_node_that_stores_something_else_is_not_believed() -> None:
    answer = b'{"Name":"object","Hash":"%s","Size":"1"}\n' % cid_of_file(b"other").text.encode()
    async with memory_store(ScriptedNode({"add": (200, answer)})) as store:
        with pytest.raises(HashMismatch):
            await store.quarantine(pieces_of(b"x"), size_max=9)


async def test_bytes_that_the_node_has_no_more_are_not_found() -> None:
    missing = (500, b'{"Message":"ipld: could not find bafk","Code":0,"Type":"error"}')
    async with memory_store(Importing({"cat": missing, "block/get": missing})) as store:
        for data in (b"small", os.urandom(300_000)):
            await store.put(key_of(data), data)
            with pytest.raises(ObjectNotFound, match="no more"):
                await read_all(store, key_of(data))


async def test_what_the_node_let_go_of_is_lost_and_healed_from_a_sound_copy(
    catalog: Catalog, store: IpfsObjectStore
) -> None:
    builder, sound = chain([uuid.uuid4().hex]), MemoryObjectStore()
    dataset = Dataset(store, catalog.stores.refs(PLACE))
    sound.objects = {block_key(block.hash): block.raw for block in builder.blocks}
    await dataset.append(builder.blocks[:-1], expected_head=None)
    last = builder.blocks[-1]
    table = catalog.stores.files(PLACE)  # names what the node has not
    await table.hold([HeldFile("lost", cid_of_file(last.raw), last.hash, len(last.raw))])
    await table.name([(block_key(last.hash), "lost")], WriteMode.KEEP)
    await dataset.refs.compare_and_swap("head", expected=builder.blocks[-2].hash, new=last.hash)
    with pytest.raises(ObjectNotFound, match="no more"):
        await store.read(block_key(last.hash))
    assert [each.key async for each in scrub(dataset, sources=[sound]) if each.healed] == [block_key(last.hash)]
    assert await store.read(block_key(last.hash)) == last.raw


async def test_what_is_pinned_and_not_found_in_time_may_come_back() -> None:
    slow = (500, b'{"Message":"context deadline exceeded","Code":0,"Type":"error"}')
    for answers, error in (
        ({"pin/ls": (200, b'{"Keys":{}}')}, TransientStorageError),
        ({"pin/ls": (503, b"")}, TransientStorageError),
        ({"pin/ls": (500, b'{"Message":"path is not pinned","Code":0}')}, ObjectNotFound),
    ):
        async with memory_store(Importing({"block/get": slow, **answers})) as store:
            await store.put(key_of(b"x"), b"x")
            with pytest.raises(error):
                await store.read(key_of(b"x"))


async def test_a_dataset_at_a_node_is_opened_by_its_address(
    ipfs_node: NodeAddresses, session: aiohttp.ClientSession, catalog: Catalog
) -> None:
    address = f"{ipfs_node.rpc}/weather"
    builder = chain(["a", "b"])
    connection = Connection(session, tables=catalog.stores)
    await open_dataset(address, connection).append(builder.blocks, expected_head=None)
    assert await open_dataset(address + "/", connection).head() == builder.head
    assert await open_dataset(f"{ipfs_node.rpc}/other", connection).head() is None
    with pytest.raises(UnsupportedOperation, match="catalog"):
        open_dataset(address, Connection(session))
