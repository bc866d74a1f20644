"""So many bytes a second, whatever is moved, over all stores that share the throttle."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.local.objects import LocalObjectStore
from storage.memory import MemoryObjectStore
from storage.wrappers.throttled import Throttle, ThrottledObjectStore
from tests.storage.wrappers.inner import Clock
from tests.suites.object_store import key_of, pieces_of, read_all


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> ThrottledObjectStore:
    return ThrottledObjectStore(MemoryObjectStore(), Throttle(100, now=clock, sleep=clock.sleep))


async def test_every_way_in_and_out_takes_its_time(store: ThrottledObjectStore, clock: Clock) -> None:
    data = bytes(50)
    for moved in (
        store.put(key_of(data), data),
        store.put_many({key_of(data): data}),
        store.read(key_of(data)),
        read_all(store, key_of(data)),
        store.quarantine(pieces_of(data), size_max=99),
        store.follow(key_of(data), lambda _: None, count_max=1),
    ):
        began = clock.now
        await moved
        assert clock.now - began == pytest.approx(0.5)


async def test_what_moves_no_bytes_is_not_held_up(store: ThrottledObjectStore, clock: Clock) -> None:
    await store.delete(key_of(b"absent"))
    assert [info async for info in store.list()] == []
    assert clock.slept == []


async def test_idle_time_is_not_saved_up(store: ThrottledObjectStore, clock: Clock) -> None:
    clock.now += 1_000
    await store.put(key_of(bytes(100)), bytes(100))
    assert clock.slept == [pytest.approx(1.0)]


async def test_stores_share_a_throttle(clock: Clock) -> None:
    throttle = Throttle(10, now=clock, sleep=clock.sleep)
    began = clock.now
    for store in (ThrottledObjectStore(MemoryObjectStore(), throttle) for _ in range(3)):
        await store.put(key_of(b"0123456789"), b"0123456789")
    assert clock.now - began == pytest.approx(3.0)


async def test_files_are_not_handed_to_the_kernel(tmp_path: Path) -> None:
    store = ThrottledObjectStore(LocalObjectStore(tmp_path), Throttle(10))
    assert store.local_path(key_of(b"x")) is None
    assert not store.capabilities.sendfile


@given(st.lists(st.integers(0, 10_000), max_size=20), st.integers(1, 5_000))
async def test_the_rate_is_never_exceeded(sizes: list[int], bytes_per_s: int) -> None:
    clock = Clock()
    throttle = Throttle(bytes_per_s, now=clock, sleep=clock.sleep)
    began = clock.now
    for size in sizes:
        await throttle.passed(size)
        clock.now += 0.01
    assert sum(sizes) <= bytes_per_s * (clock.now - began) + 1e-3 * bytes_per_s
