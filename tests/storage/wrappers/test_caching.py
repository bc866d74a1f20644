"""What was read once comes from the cache, if it is still right; the cache stays within its bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import LimitExceeded, ObjectNotFound
from opendatafabric.limits import READ_CHUNK_BYTES
from storage.local.objects import LocalObjectStore
from storage.memory import MemoryObjectStore
from storage.values import ByteRange, WriteMode
from storage.wrappers.caching import CachingObjectStore, ObjectCache
from tests.faults.faulty_stores import Faults, FaultyObjectStore, full
from tests.suites.object_store import key_of, read_all


class Cached:
    """A store of some objects behind a cache; ``faults`` sees what the store behind is asked."""

    def __init__(self, *contents: bytes, bytes_max: int = 1_000, entry_bytes_max: int = 1_000) -> None:
        self.behind = MemoryObjectStore()
        self.behind.objects = {key_of(content): content for content in contents}
        self.kept = MemoryObjectStore()
        self.faults = Faults()
        self.store = CachingObjectStore(
            FaultyObjectStore(self.behind, self.faults),
            ObjectCache(self.kept, bytes_max=bytes_max),
            entry_bytes_max=entry_bytes_max,
        )

    @property
    def asked(self) -> int:
        return len(self.faults.steps)


async def test_the_second_read_does_not_reach_the_store() -> None:
    cached = Cached(b"one")
    assert [await cached.store.read(key_of(b"one")) for _ in range(3)] == [b"one"] * 3
    assert cached.asked == 1


async def test_streams_and_ranges_are_answered_from_the_cache() -> None:
    cached = Cached(b"0123456789")
    key = key_of(b"0123456789")
    assert await read_all(cached.store, key) == b"0123456789"
    asked = cached.asked
    assert await read_all(cached.store, key, ByteRange(3, 5)) == b"34"
    assert await cached.store.follow(key, lambda _: None, count_max=9) == [(key, b"0123456789")]
    assert cached.asked == asked


async def test_a_range_that_is_not_kept_is_read_as_a_range() -> None:
    cached = Cached(b"0123456789")
    assert await read_all(cached.store, key_of(b"0123456789"), ByteRange(3, 5)) == b"34"
    assert cached.kept.objects == {}


async def test_a_damaged_entry_is_a_miss_and_goes() -> None:
    cached = Cached(b"right")
    key = key_of(b"right")
    await cached.store.read(key)
    for damage in (b"rihgt", b"", b"right and more"):
        cached.kept.objects[key] = damage
        assert await cached.store.read(key) == b"right"
        assert cached.kept.objects[key] == b"right"


async def test_an_entry_that_vanished_is_a_miss() -> None:
    cached = Cached(b"one")
    await cached.store.read(key_of(b"one"))
    cached.kept.objects.clear()
    assert await cached.store.read(key_of(b"one")) == b"one"


async def test_damage_in_the_store_is_passed_on_and_not_kept() -> None:
    cached = Cached(b"right")
    key = key_of(b"right")
    cached.behind.objects[key] = b"wrong"
    assert await cached.store.read(key) == b"wrong"
    assert await read_all(cached.store, key) == b"wrong"
    assert cached.kept.objects == {}


async def test_what_is_not_named_by_its_hash_is_never_kept() -> None:
    cached = Cached()
    for content in (b"a", b"b"):
        await cached.store.put("info/alias", content, WriteMode.REPLACE)
        assert await cached.store.read("info/alias") == content
    assert cached.kept.objects == {}


async def test_writing_and_deleting_reach_the_cache() -> None:
    cached = Cached(b"one")
    key = key_of(b"one")
    await cached.store.read(key)
    await cached.store.delete(key)
    with pytest.raises(ObjectNotFound):
        await cached.store.read(key)
    await cached.store.put(key, b"one")
    await cached.store.read(key)
    await cached.store.put(key, b"other", WriteMode.REPLACE)
    assert await cached.store.read(key) == b"other"


async def test_what_was_used_longest_ago_goes_first() -> None:
    contents = [bytes([number]) * 100 for number in range(4)]
    cached = Cached(*contents, bytes_max=300)
    for number in (0, 1, 2, 0, 3):
        await cached.store.read(key_of(contents[number]))
    assert set(cached.kept.objects) == {key_of(contents[number]) for number in (0, 2, 3)}


async def test_large_objects_pass_by() -> None:
    large = bytes(READ_CHUNK_BYTES + 7)
    cached = Cached(large, b"x" * 11, bytes_max=10**9, entry_bytes_max=10)
    assert await read_all(cached.store, key_of(large)) == large
    assert await cached.store.read(key_of(b"x" * 11)) == b"x" * 11
    assert cached.kept.objects == {}


async def test_a_kept_object_is_not_read_beyond_what_is_allowed() -> None:
    cached = Cached(b"12345")
    await cached.store.read(key_of(b"12345"))
    with pytest.raises(LimitExceeded):
        await cached.store.read(key_of(b"12345"), size_max=4)


async def test_a_full_cache_is_no_error() -> None:
    behind = MemoryObjectStore()
    behind.objects = {key_of(b"one"): b"one"}
    faulty = FaultyObjectStore(MemoryObjectStore(), Faults(1, full, for_good=True, only={"put", "delete"}))
    store = CachingObjectStore(behind, ObjectCache(faulty, bytes_max=100))
    assert await store.read(key_of(b"one")) == b"one"
    assert await store.read(key_of(b"one")) == b"one"


async def test_a_cache_in_a_folder_survives_a_restart_within_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    contents = [bytes([number]) * 100 for number in range(5)]
    behind = MemoryObjectStore()
    behind.objects = {key_of(content): content for content in contents}
    folder = LocalObjectStore(tmp_path / "cache")
    store = CachingObjectStore(behind, ObjectCache(folder, bytes_max=500))
    for content in contents:
        await store.read(key_of(content))
    cache = ObjectCache(folder, bytes_max=300)
    assert await cache.get(key_of(b"absent")) is None
    left = [key async for key in folder.list()]
    assert len(left) == 3
    faults = Faults()
    again = CachingObjectStore(FaultyObjectStore(behind, faults), cache)
    for info in left:
        assert await again.read(info.key) == behind.objects[info.key]
    assert faults.steps == []


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=60), st.integers(0, 60))
async def test_reads_are_those_of_the_store_and_the_cache_stays_within_its_bytes(
    reads: list[tuple[int, bool]], bytes_max: int
) -> None:
    contents = [bytes([number]) * number for number in range(10)]
    cached = Cached(*contents, bytes_max=bytes_max)
    for number, damaged in reads:
        key = key_of(contents[number])
        if damaged and key in cached.kept.objects:
            cached.kept.objects[key] = b"?"
        assert await cached.store.read(key) == contents[number]
        assert sum(map(len, cached.kept.objects.values())) <= bytes_max
