"""What may pass is tried again without being done twice; what is permanent, or cannot be repeated, fails at once."""

from __future__ import annotations

import pytest

from opendatafabric.errors import ObjectNotFound, StorageError, StorageFull, TransientStorageError
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.values import ByteRange, WriteMode
from storage.wrappers.retrying import Patience, RetryingObjectStore, RetryingRefStore
from tests.faults.faulty_stores import Faults, FaultyObjectStore, FaultyRefStore, Strike, broken, full, unavailable
from tests.storage.chains import chain
from tests.storage.wrappers.inner import Clock
from tests.suites.object_store import key_of, keys_in, pieces_of, read_all

LARGE = bytes(range(256)) * (READ_CHUNK_BYTES // 64)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def around(faults: Faults, clock: Clock, *, tries: int = 3) -> RetryingObjectStore:
    inner = MemoryObjectStore()
    inner.objects = {key_of(LARGE): LARGE, key_of(b"x"): b"x"}
    patience = Patience(tries=tries, first_wait_s=1.0, sleep=clock.sleep)
    return RetryingObjectStore(FaultyObjectStore(inner, faults), patience)


async def test_reading_is_tried_again_after_a_wait(clock: Clock) -> None:
    store = around(Faults(strike_at=1), clock)
    assert await store.read(key_of(b"x")) == b"x"
    assert len(clock.slept) == 1
    assert 0.5 <= clock.slept[0] <= 1.0


async def test_waits_grow_and_tries_come_to_an_end(clock: Clock) -> None:
    faults = Faults(strike_at=1, for_good=True)
    with pytest.raises(TransientStorageError):
        await around(faults, clock, tries=4).stat(key_of(b"x"))
    assert len(faults.steps) == 4
    assert all(2**n * 0.5 <= wait <= 2**n for n, wait in enumerate(clock.slept))


@pytest.mark.parametrize("strike", [broken, full])
async def test_what_is_permanent_is_not_tried_again(clock: Clock, strike: Strike) -> None:
    faults = Faults(strike_at=1, strike=strike, for_good=True)
    with pytest.raises(StorageError):
        await around(faults, clock).put(key_of(b"y"), b"y")
    assert (len(faults.steps), clock.slept) == (1, [])


async def test_absence_is_an_answer(clock: Clock) -> None:
    with pytest.raises(ObjectNotFound):
        await around(Faults(), clock).read(key_of(b"absent"))
    assert clock.slept == []


@pytest.mark.parametrize("strike_at", range(1, 6))
async def test_a_broken_stream_goes_on_where_it_broke(clock: Clock, strike_at: int) -> None:
    assert await read_all(around(Faults(strike_at=strike_at), clock), key_of(LARGE)) == LARGE


async def test_a_broken_range_ends_where_it_should(clock: Clock) -> None:
    window = ByteRange(5, 2 * READ_CHUNK_BYTES + 9)
    found = await read_all(around(Faults(strike_at=2), clock), key_of(LARGE), window)
    assert found == LARGE[window.start : window.end]


async def test_a_stream_that_never_comes_on_ends(clock: Clock) -> None:
    with pytest.raises(TransientStorageError):
        await read_all(around(Faults(strike_at=2, for_good=True), clock), key_of(LARGE))
    assert len(clock.slept) == 2


async def test_a_broken_listing_tells_each_key_once(clock: Clock) -> None:
    store = around(Faults(strike_at=1), clock)
    assert await keys_in(store) == {key_of(b"x"), key_of(LARGE)}


@pytest.mark.parametrize("strike_at", range(1, 6))
async def test_a_walk_that_broke_gives_every_block_once(clock: Clock, strike_at: int) -> None:
    builder = chain(["a", "b", "c", "d"])
    inner, refs = MemoryObjectStore(), MemoryRefStore()
    await Dataset(inner, refs).append(builder.blocks, expected_head=None)
    faulty = FaultyObjectStore(inner, Faults(strike_at=strike_at))
    dataset = Dataset(RetryingObjectStore(faulty, Patience(sleep=clock.sleep)), refs)
    walked = [block async for batch in dataset.walk(builder.head) for block in batch]
    assert walked == builder.blocks[::-1]
    assert len(clock.slept) == 1


@pytest.mark.parametrize("after", [False, True])
async def test_keeping_and_deleting_may_be_repeated(clock: Clock, after: bool) -> None:
    store = around(Faults(strike_at=1, after=after), clock)
    await store.put(key_of(b"y"), b"y")
    assert await store.read(key_of(b"y")) == b"y"
    again = around(Faults(strike_at=1, after=after), clock)
    await again.delete(key_of(b"x"))
    await again.put_many({key_of(b"z"): b"z"})
    assert await keys_in(again) == {key_of(b"z"), key_of(LARGE)}


async def test_creating_is_not_repeated(clock: Clock) -> None:
    faults = Faults(strike_at=1)
    with pytest.raises(TransientStorageError):
        await around(faults, clock).put("info/alias", b"a", WriteMode.CREATE)
    assert len(faults.steps) == 1


@pytest.mark.parametrize("operation", ["quarantine", "publish"])
async def test_a_stream_and_its_publishing_are_not_repeated(clock: Clock, operation: str) -> None:
    faults = Faults(strike_at=1, only={operation})
    store = around(faults, clock)
    with pytest.raises(TransientStorageError):
        await store.publish(await store.quarantine(pieces_of(b"q"), size_max=9), key_of(b"q"))
    assert (len(faults.steps), clock.slept) == (1, [])


async def test_a_head_is_read_again_but_never_moved_again(clock: Clock) -> None:
    patience, head = Patience(sleep=clock.sleep), physical_hash(b"a")
    assert await RetryingRefStore(FaultyRefStore(MemoryRefStore(), Faults(strike_at=1)), patience).read("head") is None
    faults = Faults(strike_at=1, strike=unavailable, after=True)
    refs = RetryingRefStore(FaultyRefStore(MemoryRefStore(), faults), patience)
    with pytest.raises(TransientStorageError):
        await refs.compare_and_swap("head", expected=None, new=head)
    assert (await refs.list(), len(clock.slept)) == ({"head": head}, 1)


async def test_a_full_disk_is_permanent() -> None:
    assert not StorageFull("no space").retryable
    assert not StorageError("broken").retryable
    assert TransientStorageError("busy").retryable
