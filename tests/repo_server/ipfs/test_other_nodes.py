"""Other implementations of IPFS read the gateway and prove it: boxo by blocks and by archives, js-ipfs (or a Kubo) by
taking an archive in and by adding the same folder."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from opendatafabric.ipfs.cid import Cid, cid_of_object
from repo_server.config import Tenancy
from storage.ipfs.node import IpfsNode
from storage.ipfs.rpc import KuboRpc
from storage.ipfs.trees import publish_tree
from tests.ipfs.boxo_node import boxo_program, running_boxo
from tests.ipfs.node import NodeAddresses, ipfs_node
from tests.repo_server.hosted import LARGE, SMALL, hash_of
from tests.repo_server.ipfs.test_gateway import ABSENT, BIG, Gateway, gateway
from tests.storage.chains import ChainBuilder, dataset_id

pytestmark = pytest.mark.slow

__all__ = ["boxo_program", "gateway", "ipfs_node"]

BLOCKS_OF_A_SHARDED_FOLDER = 2_600
ANSWER_S_MAX = 20


@pytest.fixture
def tenancy() -> Tenancy:
    return Tenancy.MULTI


class Reader:
    """Reads paths at another gateway."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self._session = session

    async def ask(self, path: str, **options: Any) -> tuple[int, bytes]:
        method = options.pop("method", "GET")
        timeout = aiohttp.ClientTimeout(total=ANSWER_S_MAX)
        async with self._session.request(method, self.url + path, timeout=timeout, **options) as response:
            return response.status, await response.read()

    async def read(self, path: str) -> bytes:
        status, body = await self.ask(path)
        assert status == 200, body
        return body


@pytest.fixture(params=["blocks", "archives"])
def proving(request: pytest.FixtureRequest, boxo_program: Path, gateway: Gateway) -> Iterator[Reader]:
    """A node that has nothing and fetches from our gateway, proving what it gets."""
    by_archives = ["-car"] if request.param == "archives" else []
    with running_boxo(boxo_program, "-remote", gateway.server.url, *by_archives) as url:
        yield Reader(url, gateway.server.session)


@pytest.mark.slow
async def test_boxo_reads_and_proves_every_file_of_a_dataset(proving: Reader, gateway: Gateway) -> None:
    root = f"/ipfs/{gateway.root}"
    assert await proving.read(f"{root}/refs/head") == str(gateway.chain.head).encode()
    for block in gateway.chain.blocks:
        assert await proving.read(f"{root}/blocks/{block.hash}") == block.raw
    for content in (SMALL, LARGE, BIG):
        assert await proving.read(f"{root}/data/{hash_of(content, gateway.chain)}") == content


@pytest.mark.slow
async def test_boxo_proves_the_record_of_a_name_and_follows_it(proving: Reader, gateway: Gateway) -> None:
    assert await proving.read(f"/ipns/{gateway.name}/refs/head") == str(gateway.chain.head).encode()


@pytest.mark.slow
async def test_boxo_reads_some_bytes_of_a_file(proving: Reader, gateway: Gateway) -> None:
    path = f"/ipfs/{gateway.root}/data/{hash_of(BIG, gateway.chain)}"
    status, body = await proving.ask(path, headers={"Range": "bytes=1000000-1000099"})
    assert (status, body) == (206, BIG[1_000_000:1_000_100])


@pytest.mark.slow
async def test_boxo_reads_objects_by_the_cid_of_their_physical_hash(proving: Reader, gateway: Gateway) -> None:
    for content in (SMALL, LARGE):
        cid = cid_of_object(hash_of(content, gateway.chain))
        assert await proving.read(f"/ipfs/{cid}") == content


@pytest.mark.slow
async def test_boxo_lists_the_folders_of_a_dataset(proving: Reader, gateway: Gateway) -> None:
    status, body = await proving.ask(f"/ipfs/{gateway.root}/", headers={"Accept": "text/html"})
    assert status == 200
    assert all(name in body.decode() for name in ("blocks", "checkpoints", "data", "refs"))


@pytest.mark.slow
async def test_boxo_finds_nothing_that_is_private_or_absent(proving: Reader, gateway: Gateway) -> None:
    hidden = cid_of_object(gateway.secret.head)
    for path in (f"/ipfs/{hidden}", f"/ipfs/{ABSENT}", f"/ipfs/{gateway.root}/absent"):
        status, _ = await proving.ask(path)
        assert status >= 400


@pytest.mark.slow
async def test_boxo_finds_every_block_in_a_folder_of_many_shards(proving: Reader, gateway: Gateway) -> None:
    long = ChainBuilder(dataset_id(3))
    for number in range(BLOCKS_OF_A_SHARDED_FOLDER):
        long.info(f"change {number}")
    entry = await gateway.server.add("long", long)
    tree = await publish_tree(entry.id, entry.dataset, gateway.server.catalog.ipfs)
    assert tree is not None
    root = tree.root.cid
    for block in (long.blocks[0], long.blocks[1_234], long.blocks[-1]):
        assert await proving.read(f"/ipfs/{root}/blocks/{block.hash}") == block.raw
    status, _ = await proving.ask(f"/ipfs/{root}/blocks/absent")
    assert status == 404


@pytest.mark.slow
async def test_boxo_takes_an_archive_in_and_serves_the_dataset_from_it(boxo_program: Path, gateway: Gateway) -> None:
    archive = (await gateway.get(f"/ipfs/{gateway.root}?format=car")).body
    with running_boxo(boxo_program) as url:
        node = Reader(url, gateway.server.session)
        status, answer = await node.ask("/import", method="POST", data=archive)
        assert (status, str(gateway.root) in answer.decode()) == (200, True)
        assert await node.read(f"/ipfs/{gateway.root}/data/{hash_of(BIG, gateway.chain)}") == BIG
        damaged = archive[:-5] + bytes(5)
        status, _ = await node.ask("/import", method="POST", data=damaged)
        assert status == 400


@pytest.fixture
async def node(ipfs_node: NodeAddresses) -> AsyncIterator[IpfsNode]:
    async with aiohttp.ClientSession() as session:
        yield IpfsNode(KuboRpc(session, ipfs_node.rpc))


async def test_a_node_takes_an_archive_in_whole_and_pins_it(node: IpfsNode, gateway: Gateway) -> None:
    archive = (await gateway.get(f"/ipfs/{gateway.root}?format=car")).body

    async def pieces() -> AsyncIterator[bytes]:
        yield archive

    await node.import_car(pieces(), roots=[gateway.root])
    assert await node.has_pinned(gateway.root)


async def test_the_root_is_the_one_that_a_node_gives_the_folder_when_it_adds_it(
    ipfs_node: NodeAddresses, gateway: Gateway
) -> None:
    entry = await gateway.server.repository.find(gateway.server.alias("open"))
    assert (entry.path / "checkpoints").is_dir()  # empty, and yet part of the tree
    assert await added_by(gateway.server.session, ipfs_node.rpc, entry.path) == gateway.root


def folder_form(folder: Path) -> aiohttp.MultipartWriter:
    """``folder`` without ``info/`` and hidden names, as nodes take folders: the empty ones named."""
    form = aiohttp.MultipartWriter("form-data")
    for path in [folder, *sorted(folder.rglob("*"))]:
        place = path.relative_to(folder).parts
        if place[:1] == ("info",) or any(part.startswith(".") for part in place):
            continue
        kind = "application/x-directory" if path.is_dir() else "application/octet-stream"
        part = form.append(b"" if path.is_dir() else path.read_bytes(), {"Content-Type": kind})  # type: ignore[arg-type]
        name = quote(str(Path("dataset") / path.relative_to(folder)), safe="")
        part.set_content_disposition("form-data", name="file", filename=name, quote_fields=False)
    return form


async def added_by(session: aiohttp.ClientSession, rpc: str, folder: Path) -> Cid:
    """The root that a node gives ``folder`` when it adds it as kamu does."""
    form = folder_form(folder)
    query = "cid-version=1&raw-leaves=true&pin=false&progress=false&cid-base=base32"
    async with session.post(f"{rpc.removeprefix('kubo+')}/api/v0/add?{query}", data=form) as response:
        assert response.status == 200, await response.text()
        added = [json.loads(line) for line in (await response.text()).splitlines()]
    return Cid.from_text(next(line["Hash"] for line in added if line["Name"] == "dataset"))
