"""A dataset behind plain HTTP: the reader's contract over a real server, and what servers may do wrong."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    LimitExceeded,
    MalformedIdentifier,
    ObjectNotFound,
    OdfError,
    StorageError,
    TransientStorageError,
    UnsupportedOperation,
)
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.http.objects import HttpObjectReader
from storage.http.refs import HttpRefStore
from storage.protocols import ObjectReader
from storage.values import ByteRange
from tests.storage.chains import chain
from tests.storage.http.peer import Peer
from tests.suites.object_store import ObjectReaderSuite, key_of, read_all

A = physical_hash(b"a")


@pytest.fixture
def peer() -> Peer:
    return Peer()


@pytest.fixture
async def address(peer: Peer) -> AsyncIterator[str]:
    async with TestServer(peer.application()) as server:
        yield str(server.make_url("/alice/foo"))


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def store(session: aiohttp.ClientSession, address: str) -> HttpObjectReader:
    return HttpObjectReader(session, address, {"Authorization": "Bearer t"})


@pytest.fixture
def refs(session: aiohttp.ClientSession, address: str) -> HttpRefStore:
    return HttpRefStore(session, address)


class PeerSuite(ObjectReaderSuite):
    ranges = True
    lengths = True

    @pytest.fixture(autouse=True)
    def remember_peer(self, peer: Peer) -> None:
        peer.ranges, peer.lengths = self.ranges, self.lengths
        self.peer = peer

    def plant(self, store: ObjectReader, key: str, data: bytes) -> None:
        self.peer.files[f"alice/foo/{key}"] = data


class TestHttpObjects(PeerSuite):
    pass


class TestHttpObjectsWithoutRanges(PeerSuite):
    ranges = False


class TestHttpObjectsWithoutLengths(PeerSuite):
    """As the reference serves objects."""

    ranges = False
    lengths = False


def planted(peer: Peer, data: bytes) -> str:
    peer.files[f"alice/foo/{key_of(data)}"] = data
    return key_of(data)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, AuthenticationRequired),
        (403, AccessDenied),
        (404, ObjectNotFound),
        (410, ObjectNotFound),
        (400, StorageError),
        (408, TransientStorageError),
        (429, TransientStorageError),
        (500, TransientStorageError),
        (502, TransientStorageError),
        (503, TransientStorageError),
    ],
)
async def test_every_refusal_has_its_error(
    store: HttpObjectReader, peer: Peer, status: int, error: type[OdfError]
) -> None:
    key = planted(peer, b"x")
    peer.statuses = iter([status])
    with pytest.raises(error) as raised:
        await store.read(key)
    assert type(raised.value) is error


async def test_a_body_that_breaks_off_is_continued_where_it_broke(store: HttpObjectReader, peer: Peer) -> None:
    data = os.urandom(300_000)
    key = planted(peer, data)
    peer.breaks_after = [100_000, 50_000]
    assert await read_all(store, key) == data
    assert len(peer.requests) == 3


async def test_a_range_that_breaks_off_is_continued_too(store: HttpObjectReader, peer: Peer) -> None:
    data = os.urandom(300_000)
    key = planted(peer, data)
    peer.breaks_after = [1_000]
    assert await read_all(store, key, ByteRange(5, 200_000)) == data[5:200_000]


async def test_a_server_without_ranges_is_continued_from_the_start(store: HttpObjectReader, peer: Peer) -> None:
    data = os.urandom(300_000)
    key = planted(peer, data)
    peer.ranges = False
    peer.breaks_after = [100_000]
    assert await read_all(store, key) == data


async def test_a_server_that_never_gets_further_is_given_up(store: HttpObjectReader, peer: Peer) -> None:
    key = planted(peer, os.urandom(300_000))
    peer.breaks_after = [10, 0, 0, 0, 0, 0, 0]
    with pytest.raises(TransientStorageError):
        await read_all(store, key)


async def test_a_server_that_is_not_there_is_unavailable(session: aiohttp.ClientSession, unused_tcp_port: int) -> None:
    store = HttpObjectReader(session, f"http://127.0.0.1:{unused_tcp_port}/")
    with pytest.raises(TransientStorageError):
        await store.read(key_of(b"x"))


async def test_an_endless_body_ends_at_the_limit(store: HttpObjectReader, peer: Peer) -> None:
    peer.lengths = False
    key = planted(peer, bytes(5_000_000))
    with pytest.raises(LimitExceeded):
        await store.read(key, size_max=1_000_000)


async def test_headers_go_with_every_request_and_no_coding_is_asked_for(store: HttpObjectReader, peer: Peer) -> None:
    await store.read(planted(peer, b"x"))
    await store.stat(planted(peer, b"x"))
    assert [method for method, _, _ in peer.requests] == ["GET", "HEAD"]
    for _, _, headers in peer.requests:
        assert headers["Authorization"] == "Bearer t"
        assert headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("base", ["", "ftp://x/", "http://", "file:///etc", "//x/y", "http://[::1"])
def test_what_is_no_web_address_is_refused(base: str) -> None:
    with pytest.raises(MalformedIdentifier):
        HttpObjectReader(None, base)  # type: ignore[arg-type]


async def test_the_head_is_read(refs: HttpRefStore, peer: Peer) -> None:
    assert await refs.read("head") is None
    assert await refs.list() == {}
    peer.files["alice/foo/refs/head"] = str(A).encode()
    assert await refs.read("head") == A
    assert await refs.list() == {"head": A}


@pytest.mark.parametrize("text", [b"", b"<html>not found</html>", str(A).encode() + b"\n", b"f" * 100_000])
async def test_a_head_that_is_no_hash_is_refused(refs: HttpRefStore, peer: Peer, text: bytes) -> None:
    peer.files["alice/foo/refs/head"] = text
    with pytest.raises(MalformedIdentifier):
        await refs.read("head")


async def test_a_head_behind_http_cannot_be_moved(refs: HttpRefStore) -> None:
    with pytest.raises(UnsupportedOperation):
        await refs.compare_and_swap("head", expected=None, new=A)


async def test_a_dataset_is_walked_over_http(store: HttpObjectReader, refs: HttpRefStore, peer: Peer) -> None:
    builder = chain(["a", "b"])
    peer.files |= {f"alice/foo/blocks/{block.hash}": block.raw for block in builder.blocks}
    peer.files["alice/foo/refs/head"] = str(builder.head).encode()
    dataset = Dataset(store, refs)
    head = await dataset.head()
    assert head is not None
    assert [block async for batch in dataset.walk(head) for block in batch] == builder.blocks[::-1]
    with pytest.raises(UnsupportedOperation):
        await dataset.append([builder.info("c")], expected_head=head)
