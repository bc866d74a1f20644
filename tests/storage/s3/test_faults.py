"""S3 that fails as in earnest: what passes is not noticed, what stays is told by the right error, nothing is lost."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import aiohttp
import pytest
from yarl import URL

from opendatafabric.errors import (
    HashMismatch,
    OdfError,
    StorageError,
    StorageFull,
    TransientStorageError,
)
from opendatafabric.limits import HTTP_RESUMES_MAX, S3_PART_BYTES, S3_RETRIES_MAX
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.quarantine import receive_object
from storage.s3 import cells, client, objects, retries
from storage.s3.location import S3Location, parse_s3_address
from storage.s3.presign import S3PresigningStore
from storage.s3.refs import S3RefStore
from tests.storage.chains import chain
from tests.storage.s3.proxy import (
    S3Proxy,
    Strike,
    answering,
    cutting,
    dead,
    failing_after,
    hanging,
    losing,
    s3_proxy,
    spoiling,
)
from tests.storage.s3.servers import versitygw
from tests.storage.s3.test_objects import names_in
from tests.suites.object_store import key_of, keys_in, pieces_of, read_all

pytestmark = pytest.mark.slow

KEPT, NEW = b"kept", b"new"
A, B = physical_hash(b"a"), physical_hash(b"b")
BROKEN, BUSY = answering(500, "InternalError"), answering(503, "SlowDown")
PASSING: dict[str, Strike] = {
    "500": BROKEN,
    "503": BUSY,
    "dead": dead,
    "answer lost": losing,
    "500 after the deed": failing_after(500, "InternalError"),
}


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Proxy]:
    with versitygw(tmp_path_factory.mktemp("versitygw") / "buckets") as server, s3_proxy(server) as running_proxy:
        yield running_proxy


@pytest.fixture
def proxy(proxied: S3Proxy) -> S3Proxy:
    """A proxy that lets everything pass as yet."""
    proxied.calm()
    return proxied


@pytest.fixture
def place(proxy: S3Proxy) -> S3Location:
    """A place where nothing is, behind the proxy."""
    return parse_s3_address(f"{proxy.address}tests/{uuid.uuid4().hex}")


@pytest.fixture
async def store(place: S3Location) -> S3PresigningStore:
    """A store that has one object."""
    found = S3PresigningStore(place)
    await found.put(key_of(KEPT), KEPT)
    return found


@pytest.fixture
def impatient(store: S3PresigningStore, monkeypatch: pytest.MonkeyPatch) -> S3PresigningStore:
    """The same by connections of its own, that ask nothing more than twice and wait no longer than a second."""
    for module in (client, retries):
        monkeypatch.setattr(module, "S3_REQUEST_S_MAX", 1)
    monkeypatch.setattr(client, "S3_RETRIES_MAX", 1)
    monkeypatch.setattr(retries, "HTTP_RESUMES_MAX", 1)
    monkeypatch.setattr(cells, "S3_RETRIES_MAX", 1)
    endpoint = (store.location.endpoint or "").replace("127.0.0.1", "localhost")
    return S3PresigningStore(replace(store.location, endpoint=endpoint))


# --- what passes


async def _look(store: S3PresigningStore) -> None:
    assert (await store.stat(key_of(KEPT))).size == len(KEPT)


async def _read(store: S3PresigningStore) -> None:
    assert await store.read(key_of(KEPT)) == KEPT


async def _stream(store: S3PresigningStore) -> None:
    assert await read_all(store, key_of(KEPT)) == KEPT


async def _list(store: S3PresigningStore) -> None:
    assert await keys_in(store) == {key_of(KEPT)}


async def _put(store: S3PresigningStore) -> None:
    await store.put_many({key_of(NEW): NEW, key_of(b"more"): b"more"})
    assert await store.read(key_of(NEW)) == NEW


async def _describe(store: S3PresigningStore) -> None:
    await store.put("info/alias", b"weather")
    assert await store.read("info/alias") == b"weather"


async def _delete(store: S3PresigningStore) -> None:
    await store.delete(key_of(KEPT))
    assert names_in(store.location) == set()


async def _receive(store: S3PresigningStore) -> None:
    await receive_object(store, key_of(NEW), pieces_of(NEW), expected_hash=physical_hash(NEW), size_max=3)
    assert names_in(store.location) == {key_of(KEPT), key_of(NEW)}


Deed = Callable[[S3PresigningStore], Awaitable[None]]
DEEDS: dict[str, tuple[str, Deed]] = {
    "look": ("head", _look),
    "read": ("get", _read),
    "stream": ("get", _stream),
    "list": ("list", _list),
    "put": ("put", _put),
    "describe": ("swap", _describe),
    "delete": ("delete", _delete),
    "quarantine": ("put", _receive),
    "publish": ("copy", _receive),
    "leave quarantine": ("delete", _receive),
}


@pytest.mark.parametrize("failure", PASSING)
@pytest.mark.parametrize("deed", DEEDS)
async def test_a_failure_that_passes_is_not_noticed(
    store: S3PresigningStore, proxy: S3Proxy, deed: str, failure: str
) -> None:
    struck, action = DEEDS[deed]
    proxy.strike(PASSING[failure], struck)
    await action(store)
    assert proxy.struck == 1


@pytest.mark.parametrize("failure", ["503", "dead", "answer lost"])
@pytest.mark.parametrize("struck", ["begin", "part", "complete", "copy", "get"])
async def test_a_large_object_arrives_whole_though_a_request_fails(
    store: S3PresigningStore, proxy: S3Proxy, struck: str, failure: str
) -> None:
    proxy.strike(PASSING[failure], struck)
    await take_in_and_read(store, os.urandom(2 * S3_PART_BYTES + 7))
    assert proxy.struck == 1


async def test_a_large_object_is_there_though_the_last_answer_was_cut(store: S3PresigningStore, proxy: S3Proxy) -> None:
    proxy.strike(cutting, "complete")
    await take_in_and_read(store, os.urandom(S3_PART_BYTES + 7))
    assert proxy.struck == 1


async def take_in_and_read(store: S3PresigningStore, data: bytes) -> None:
    quarantined = await store.quarantine(pieces_of(data), size_max=len(data))
    await store.publish(quarantined, key_of(data))
    assert await read_all(store, key_of(data)) == data
    assert names_in(store.location) == {key_of(KEPT), key_of(data)}


@pytest.mark.parametrize("deed", [_read, _stream], ids=["read", "stream"])
async def test_a_body_cut_short_is_asked_for_again(store: S3PresigningStore, proxy: S3Proxy, deed: Deed) -> None:
    proxy.strike(cutting, "get")
    await deed(store)
    assert proxy.struck == 1


async def test_a_large_object_goes_on_where_its_body_was_cut(
    store: S3PresigningStore, proxy: S3Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "S3_WINDOW_BYTES", 1_000)
    data = os.urandom(10_500)
    await store.put(key_of(data), data)
    proxy.strike(cutting, "get", skipped=3, times=2)
    assert await read_all(store, key_of(data)) == data
    assert proxy.struck == 2


# --- what stays


@pytest.mark.parametrize("failure", ["500", "503", "dead"])
@pytest.mark.parametrize("deed", ["look", "read", "stream", "list", "put", "delete", "quarantine", "publish"])
async def test_a_store_that_goes_on_failing_is_told_as_one_to_ask_later(
    impatient: S3PresigningStore, proxy: S3Proxy, deed: str, failure: str
) -> None:
    proxy.strike(PASSING[failure], times=1_000)
    with pytest.raises(TransientStorageError) as failed:
        await DEEDS[deed][1](impatient)
    assert failed.value.retryable
    assert "X-Amz" not in str(failed.value)
    proxy.calm()
    await DEEDS[deed][1](impatient)


async def test_a_store_that_asks_to_slow_down_is_asked_a_few_times_and_ever_later(
    store: S3PresigningStore, proxy: S3Proxy
) -> None:
    proxy.strike(BUSY, times=1_000)
    begun = time.monotonic()
    with pytest.raises(TransientStorageError, match="503 SlowDown"):
        await store.read(key_of(KEPT))
    assert proxy.struck == (S3_RETRIES_MAX + 1) * (HTTP_RESUMES_MAX + 1)
    assert time.monotonic() - begun > proxy.struck * 0.1


@pytest.mark.parametrize("deed", ["look", "read", "put", "publish"])
async def test_a_store_that_hangs_is_given_up_in_time(impatient: S3PresigningStore, proxy: S3Proxy, deed: str) -> None:
    proxy.strike(hanging, times=1_000)
    begun = time.monotonic()
    with pytest.raises(TransientStorageError):
        await DEEDS[deed][1](impatient)
    assert time.monotonic() - begun < 6


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (403, "AccessDenied", StorageError),
        (507, "InsufficientStorage", StorageFull),
        (400, "QuotaExceeded", StorageFull),
        (400, "InvalidRequest", StorageError),
    ],
)
@pytest.mark.parametrize("deed", ["read", "put", "quarantine"])
async def test_what_trying_again_does_not_help_is_told_so(
    impatient: S3PresigningStore, proxy: S3Proxy, deed: str, status: int, code: str, expected: type
) -> None:
    proxy.strike(answering(status, code), times=1_000)
    with pytest.raises(StorageError) as failed:
        await DEEDS[deed][1](impatient)
    assert type(failed.value) is expected
    assert not failed.value.retryable


# --- wrong bytes


async def test_a_block_that_comes_with_other_bytes_is_refused(store: S3PresigningStore, proxy: S3Proxy) -> None:
    dataset, builder = Dataset(store, S3RefStore(store.location)), chain(["a"])
    await dataset.append(builder.blocks, expected_head=None)
    proxy.strike(spoiling, "get", path=f"/blocks/{builder.head}")
    with pytest.raises(HashMismatch, match=f"blocks/{builder.head}"):
        await dataset.read_block(builder.head)
    assert (await dataset.read_block(builder.head)) == builder.blocks[-1]


async def test_an_object_that_arrived_otherwise_than_it_was_sent_is_not_published(
    store: S3PresigningStore, proxy: S3Proxy
) -> None:
    (upload,) = await store.sign_uploads([len(NEW)], lifetime_s=60)
    async with aiohttp.ClientSession() as session:
        await session.put(URL(upload.url, encoded=True), data=NEW)
    proxy.strike(spoiling, "get")
    examined = await store.examine(upload)
    assert examined.hash != physical_hash(NEW)
    await store.discard(examined)
    assert names_in(store.location) == {key_of(KEPT)}


# --- heads


@pytest.fixture
async def refs(store: S3PresigningStore, proxy: S3Proxy) -> S3RefStore:
    """Refs with a head."""
    found = S3RefStore(store.location)
    await found.compare_and_swap("head", expected=None, new=A)
    proxy.calm()
    return found


@pytest.mark.parametrize("failure", [*PASSING, "answer cut"])
@pytest.mark.parametrize("times", [1, 3])
async def test_a_move_of_a_head_is_told_as_it_was_whatever_becomes_of_the_answers(
    refs: S3RefStore, proxy: S3Proxy, failure: str, times: int
) -> None:
    proxy.strike(PASSING.get(failure, cutting), "swap", times=times)
    await refs.compare_and_swap("head", expected=A, new=B)
    assert await refs.read("head") == B


async def test_a_move_of_which_every_answer_is_lost_is_found_out_by_reading(
    refs: S3RefStore, impatient: S3PresigningStore, proxy: S3Proxy
) -> None:
    proxy.strike(losing, "swap", times=1_000)
    await S3RefStore(impatient.location).compare_and_swap("head", expected=A, new=B)
    assert await refs.read("head") == B


@pytest.mark.parametrize("failure", ["500", "503", "dead", "hanging"])
async def test_a_head_that_cannot_be_moved_stays_and_can_be_moved_later(
    refs: S3RefStore, impatient: S3PresigningStore, proxy: S3Proxy, failure: str
) -> None:
    hasty = S3RefStore(impatient.location)
    proxy.strike(PASSING.get(failure, hanging), "swap", times=1_000)
    with pytest.raises(TransientStorageError):
        await hasty.compare_and_swap("head", expected=A, new=B)
    proxy.calm()
    assert await hasty.read("head") == A
    await hasty.compare_and_swap("head", expected=A, new=B)


@pytest.mark.parametrize("failure", PASSING)
async def test_an_append_cut_at_any_request_leaves_the_old_or_the_new_head_and_can_be_repeated(
    impatient: S3PresigningStore, proxy: S3Proxy, failure: str
) -> None:
    for requests in range(100):
        builder = chain(["a", "b"], number=requests + 1)
        place = impatient.location.below(str(requests))
        dataset = Dataset(S3PresigningStore(place), S3RefStore(place))
        proxy.calm()
        proxy.strike(PASSING[failure], skipped=requests, times=1_000)
        with suppress(OdfError):
            await dataset.append(builder.blocks, expected_head=None)
        done = proxy.struck == 0
        proxy.calm()
        head = await dataset.head()
        assert head in {None, builder.head}
        if head is None:
            await dataset.append(builder.blocks, expected_head=None)
        assert [block async for batch in dataset.walk(builder.head) for block in batch] == builder.blocks[::-1]
        if done:
            return
    raise AssertionError("the append never ended")
