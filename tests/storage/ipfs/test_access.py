"""Datasets read through a gateway or a node: whom to believe, what is proved, and what a gateway may do wrong."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from opendatafabric.errors import (
    HashMismatch,
    InvalidSignature,
    LimitExceeded,
    MalformedIdentifier,
    StorageError,
    TransientStorageError,
    UnsupportedOperation,
)
from opendatafabric.instant import Instant
from opendatafabric.ipfs.cid import Cid
from opendatafabric.ipfs.hamt import import_folder
from opendatafabric.ipfs.ipns import IpnsName, IpnsRecord, sign_record
from opendatafabric.ipfs.unixfs import Tree
from opendatafabric.limits import IPNS_HOPS_MAX
from storage.dataset import Dataset
from storage.ipfs.access import IpfsAccess, open_in_ipfs
from storage.open import Connection, open_dataset
from tests.storage.chains import chain
from tests.storage.ipfs.gateway import Gateway
from tests.storage.ipfs.scripted_node import ScriptedNode

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = bytes(range(32))
NAME = IpnsName.from_signing_key(KEY)
BUILDER = chain(["a", "b"])
FILES = {f"blocks/{block.hash}": block.raw for block in BUILDER.blocks} | {"refs/head": str(BUILDER.head).encode()}

WAYS = pytest.mark.parametrize("trustless", [False, True], ids=["by path", "by block"])


def record(value: str, *, key: bytes = KEY, until: datetime = NOW + timedelta(days=1)) -> bytes:
    return sign_record(IpnsRecord(value, 1, Instant.from_datetime(until), 0), key)


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
def root(gateway: Gateway) -> Cid:
    return gateway.blocks.store(FILES)


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
async def address(gateway: Gateway) -> AsyncIterator[str]:
    async with TestServer(gateway.application()) as server:
        yield str(server.make_url(""))


@pytest.fixture
def opened(session: aiohttp.ClientSession, address: str) -> Opener:
    return Opener(session, address)


class Opener:
    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self.session, self.address = session, address

    def __call__(self, url: str, *, trustless: bool = False, token: str | None = None) -> Dataset:
        access = IpfsAccess(self.address, token, trustless)
        return Dataset(*open_in_ipfs(self.session, url, access, lambda: NOW))


async def whole(dataset: Dataset) -> list[object]:
    head = await dataset.head()
    assert head is not None
    return [block async for batch in dataset.walk(head) for block in batch][::-1]


@WAYS
async def test_a_dataset_is_read_by_its_root(opened: Opener, root: Cid, trustless: bool) -> None:
    for text in (root.text, root.base16):
        assert await whole(opened(f"ipfs://{text}/", trustless=trustless)) == BUILDER.blocks


@WAYS
async def test_a_dataset_may_lie_below_the_root(opened: Opener, gateway: Gateway, trustless: bool) -> None:
    outer = import_folder({"weather": Tree(gateway.blocks.store(FILES), 0, 0)}, gateway.blocks.take).cid
    assert await whole(opened(f"ipfs://{outer}/weather/", trustless=trustless)) == BUILDER.blocks
    assert await opened(f"ipfs://{outer}/nothing", trustless=trustless).head() is None


@WAYS
@pytest.mark.parametrize("absent", [404, 410])
async def test_a_tree_that_is_absent_holds_no_dataset(
    opened: Opener, gateway: Gateway, root: Cid, trustless: bool, absent: int
) -> None:
    gateway.blocks.blocks.clear()
    gateway.absent = absent
    assert await opened(f"ipfs://{root}/", trustless=trustless).head() is None


async def test_an_old_gateway_says_500_for_a_head_that_is_absent(opened: Opener, gateway: Gateway, root: Cid) -> None:
    gateway.always = 500
    assert await opened(f"ipfs://{root}/").head() is None
    with pytest.raises(TransientStorageError):
        await opened(f"ipfs://{root}/").read_block(BUILDER.head)


@WAYS
@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_gateway_in_trouble_is_unavailable(
    opened: Opener, gateway: Gateway, root: Cid, trustless: bool, status: int
) -> None:
    gateway.always = status
    with pytest.raises(TransientStorageError):
        await opened(f"ipfs://{root}/", trustless=trustless).head()


@WAYS
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_gateway_that_leads_elsewhere_is_not_followed(
    opened: Opener, gateway: Gateway, root: Cid, trustless: bool, status: int
) -> None:
    gateway.always = status
    with pytest.raises(StorageError, match="elsewhere"):
        await opened(f"ipfs://{root}/", trustless=trustless).head()
    assert len(gateway.requests) == 1


async def test_another_head_is_noticed_only_when_every_block_is_proved(
    opened: Opener, gateway: Gateway, root: Cid
) -> None:
    older = str(BUILDER.blocks[0].hash).encode()
    cid = next(cid for cid, data in gateway.blocks.blocks.items() if data == FILES["refs/head"])

    async def lying(wanted: Cid) -> bytes:
        return older if wanted == cid else gateway.blocks.blocks[wanted]

    gateway.blocks.block = lying  # type: ignore[method-assign]
    assert await opened(f"ipfs://{root}/").head() == BUILDER.blocks[0].hash
    gateway.blocks.blocks[cid] = older
    with pytest.raises(HashMismatch):
        await opened(f"ipfs://{root}/", trustless=True).head()


async def test_a_name_is_followed_by_a_gateway_that_is_believed(opened: Opener, gateway: Gateway, root: Cid) -> None:
    gateway.names |= {str(NAME): root, "data.example.org": root}
    for name in (NAME.text, NAME.peer_id, "data.example.org"):
        assert await whole(opened(f"ipns://{name}/")) == BUILDER.blocks
    assert await opened("ipns://other.example.org/").head() is None


async def test_a_name_is_proved_by_the_signature_of_its_record(opened: Opener, gateway: Gateway, root: Cid) -> None:
    gateway.blocks.records[NAME] = record(f"/ipfs/{root}")
    assert await whole(opened(f"ipns://{NAME}/", trustless=True)) == BUILDER.blocks


@pytest.mark.parametrize(
    "signed",
    [record("/ipfs/{}", key=KEY[::-1]), record("/ipfs/{}", until=NOW - timedelta(seconds=1))],
    ids=["another key", "ended"],
)
async def test_a_record_that_is_not_good_proves_nothing(opened: Opener, gateway: Gateway, signed: bytes) -> None:
    gateway.blocks.records[NAME] = signed
    with pytest.raises(InvalidSignature):
        await opened(f"ipns://{NAME}/", trustless=True).head()


async def test_a_record_that_leads_nowhere_in_ipfs_is_malformed(opened: Opener, gateway: Gateway) -> None:
    gateway.blocks.records[NAME] = record("http://127.0.0.1/")
    with pytest.raises(MalformedIdentifier):
        await opened(f"ipns://{NAME}/", trustless=True).head()


async def test_names_may_lead_to_names_but_not_for_ever(opened: Opener, gateway: Gateway, root: Cid) -> None:
    keys = [bytes([i]) * 32 for i in range(IPNS_HOPS_MAX)]
    names = [IpnsName.from_signing_key(key) for key in keys]
    targets = [f"/ipns/{name}" for name in names[1:]] + [f"/ipfs/{root}"]
    for key, name, target in zip(keys, names, targets, strict=True):
        gateway.blocks.records[name] = record(target, key=key)
    with pytest.raises(LimitExceeded):
        await opened(f"ipns://{names[0]}/", trustless=True).head()
    assert await whole(opened(f"ipns://{names[1]}/", trustless=True)) == BUILDER.blocks


async def test_what_a_domain_leads_to_cannot_be_proved(opened: Opener) -> None:
    with pytest.raises(UnsupportedOperation, match=r"data\.example\.org"):
        await opened("ipns://data.example.org/", trustless=True).head()


async def test_an_unknown_name_holds_no_dataset(opened: Opener) -> None:
    assert await opened(f"ipns://{NAME}/", trustless=True).head() is None


@WAYS
async def test_the_token_goes_to_the_gateway_in_a_header(
    opened: Opener, gateway: Gateway, root: Cid, trustless: bool
) -> None:
    await opened(f"ipfs://{root}/", trustless=trustless, token="t0ken").head()
    assert {request.headers.get("Authorization") for request in gateway.requests} == {"Bearer t0ken"}
    assert "t0ken" not in repr(IpfsAccess("http://x", "t0ken"))


# --- a node as Kubo answers


class KuboOver(ScriptedNode):
    """A node that has the blocks of a gateway."""

    gateway: Gateway

    async def answer(self, request):  # type: ignore[no-untyped-def]
        if request.match_info["command"] == "block/get":
            cid = Cid.from_text(request.query["arg"])
            missing = b'{"Message":"ipld: could not find it","Code":0,"Type":"error"}'
            found = self.gateway.blocks.blocks.get(cid)
            self.answers["block/get"] = (500, missing) if found is None else (200, found)
        return await super().answer(request)


@pytest.fixture
async def node(gateway: Gateway) -> KuboOver:
    found = KuboOver()
    found.gateway = gateway
    return found


@pytest.fixture
async def at_node(session: aiohttp.ClientSession, node: KuboOver) -> AsyncIterator[Opener]:
    async with TestServer(node.application()) as server:
        yield Opener(session, f"kubo+{server.make_url('')}")


async def test_a_node_gives_blocks_and_resolves_names(
    at_node: Opener, node: KuboOver, root: Cid, gateway: Gateway
) -> None:
    node.answers["name/resolve"] = (200, b'{"Path":"/ipfs/%s"}' % root.text.encode())
    for url in (f"ipfs://{root}", f"ipns://{NAME}", "ipns://data.example.org"):
        assert await whole(at_node(url)) == BUILDER.blocks
    asked = [request.query["arg"] for request in node.requests if request.match_info["command"] == "name/resolve"]
    assert asked == [NAME.peer_id, "data.example.org"]


async def test_a_node_without_the_tree_has_no_dataset(at_node: Opener, gateway: Gateway, root: Cid) -> None:
    gateway.blocks.blocks.clear()
    assert await at_node(f"ipfs://{root}").head() is None


async def test_a_record_from_a_node_is_proved(at_node: Opener, node: KuboOver, root: Cid) -> None:
    lines = b'{"Extra":"","ID":"12D3","Type":0}\n{"Extra":"%s","ID":"","Type":5}\n'
    node.answers["routing/get"] = (200, lines % base64.b64encode(record(f"/ipfs/{root}")))
    assert await whole(at_node(f"ipns://{NAME}", trustless=True)) == BUILDER.blocks
    node.answers["routing/get"] = (200, lines % base64.b64encode(record(f"/ipfs/{root}", key=KEY[::-1])))
    with pytest.raises(InvalidSignature):
        await at_node(f"ipns://{NAME}", trustless=True).head()


async def test_a_node_that_gives_out_no_records_cannot_prove_a_name(at_node: Opener) -> None:
    with pytest.raises(UnsupportedOperation):
        await at_node(f"ipns://{NAME}", trustless=True).head()


# --- by their address


async def test_ipfs_is_opened_with_a_gateway_alone(session: aiohttp.ClientSession, address: str, root: Cid) -> None:
    url = f"ipfs://{root}"
    for connection in (None, Connection(session), Connection(None, ipfs=IpfsAccess(address))):
        with pytest.raises(UnsupportedOperation, match="gateway"):
            open_dataset(url, connection)
    assert await open_dataset(url, Connection(session, ipfs=IpfsAccess(address))).head() == BUILDER.head
