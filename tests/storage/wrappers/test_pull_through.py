"""What is fetched from elsewhere is proved and kept: the contract of a reader, and what the cache is asked to do."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from opendatafabric.errors import HashMismatch, ObjectNotFound, TransientStorageError
from opendatafabric.limits import BLOCK_BYTES_MAX
from storage.local.objects import LocalObjectStore
from storage.memory import MemoryObjectStore
from storage.protocols import ObjectReader
from storage.values import ByteRange, ObjectInfo
from storage.wrappers.caching import ObjectCache
from storage.wrappers.pull_through import PullThroughReader
from tests.suites.object_store import ObjectReaderSuite, key_of, read_all

LARGE = os.urandom(BLOCK_BYTES_MAX + 1)


class Source(MemoryObjectStore):
    """Counts what it is asked, and is away when a test says."""

    def __init__(self) -> None:
        super().__init__()
        self.streams: list[str] = []
        self.away = False
        self.began = asyncio.Event()

    async def stat(self, key: str) -> ObjectInfo:
        self._answer()
        return await super().stat(key)

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        self._answer()
        self.streams.append(key)
        self.began.set()
        async for piece in super().stream(key, byte_range):
            await asyncio.sleep(0)
            yield piece

    def _answer(self) -> None:
        if self.away:
            raise TransientStorageError("away")


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def kept(tmp_path: Path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path)


@pytest.fixture
def reader(source: Source, kept: LocalObjectStore) -> PullThroughReader:
    return PullThroughReader(source, ObjectCache(kept, bytes_max=2 * len(LARGE)))


def planted(source: Source, data: bytes) -> str:
    source.objects[key_of(data)] = data
    return key_of(data)


class TestPullThrough(ObjectReaderSuite):
    @pytest.fixture(params=["kept", "too large to be kept"])
    def store(self, request: pytest.FixtureRequest) -> PullThroughReader:
        room = 10_000_000 if request.param == "kept" else 1
        return PullThroughReader(MemoryObjectStore(), ObjectCache(MemoryObjectStore(), bytes_max=room))

    def plant(self, store: ObjectReader, key: str, data: bytes) -> None:
        assert isinstance(store, PullThroughReader)
        assert isinstance(store._inner, MemoryObjectStore)
        store._inner.objects[key] = data

    # What is passed on is proved here, so these want keys that are hashes of what lies there.

    async def test_equal_hashes_in_different_folders_are_different_objects(self, store: ObjectReader) -> None:
        key = self.planted(store, b"one")
        with pytest.raises(ObjectNotFound):
            await store.read(key.replace("data/", "checkpoints/"))

    async def test_follow_goes_from_key_to_key(self, store: ObjectReader) -> None:
        last = self.planted(store, b"the last")
        first = self.planted(store, last.encode())
        assert await store.follow(first, next_in, count_max=9) == [(first, last.encode()), (last, b"the last")]

    async def test_follow_stops_at_the_count(self, store: ObjectReader) -> None:
        last = self.planted(store, b"the last")
        first = self.planted(store, last.encode())
        assert await store.follow(first, next_in, count_max=1) == [(first, last.encode())]


def next_in(data: bytes) -> str | None:
    return data.decode() if data.startswith(b"data/") else None


@pytest.mark.parametrize("data", [b"", b"small", LARGE], ids=len)
async def test_what_was_read_is_read_again_without_its_source(
    source: Source, reader: PullThroughReader, data: bytes
) -> None:
    key = planted(source, data)
    assert await read_all(reader, key) == data
    source.away = True
    assert await read_all(reader, key) == data
    assert await read_all(reader, key, ByteRange(2, 4)) == data[2:4]
    assert (await reader.stat(key)).size == len(data)


async def test_another_process_finds_what_was_kept(
    source: Source, reader: PullThroughReader, kept: LocalObjectStore
) -> None:
    key = planted(source, b"small")
    await reader.read(key)
    source.away = True
    assert await PullThroughReader(source, ObjectCache(kept, bytes_max=100)).read(key) == b"small"


async def test_many_who_ask_at_once_cause_one_fetch(source: Source, reader: PullThroughReader) -> None:
    key = planted(source, LARGE)
    assert set(await asyncio.gather(*(read_all(reader, key, ByteRange(0, 9)) for _ in range(20)))) == {LARGE[:9]}
    assert source.streams == [key]


async def test_who_goes_away_does_not_end_the_fetch(source: Source, reader: PullThroughReader) -> None:
    key = planted(source, LARGE)
    hasty = asyncio.create_task(read_all(reader, key))
    await source.began.wait()
    hasty.cancel()
    assert await read_all(reader, key) == LARGE
    assert source.streams == [key]


@pytest.mark.parametrize("room", [100, 2], ids=["kept", "too large to be kept"])
async def test_other_bytes_are_never_passed_on_whole_nor_kept(source: Source, room: int) -> None:
    reader = PullThroughReader(source, cache := ObjectCache(MemoryObjectStore(), bytes_max=room))
    key = key_of(b"right")
    source.objects[key] = b"wrong"
    pieces = aiter(reader.stream(key))
    with pytest.raises((TransientStorageError, HashMismatch)):
        await anext(pieces)
    assert await cache.size_of(key) is None
    source.objects[key] = b"right"
    assert await reader.read(key) == b"right"


@pytest.mark.parametrize("data", [b"small", LARGE], ids=len)
async def test_what_was_damaged_here_is_fetched_again(
    source: Source, reader: PullThroughReader, kept: LocalObjectStore, data: bytes
) -> None:
    key = planted(source, data)
    await read_all(reader, key)
    (kept.root / key).write_bytes(b"X" + data[1:])
    for _ in range(2):
        try:
            found = await read_all(reader, key)
        except TransientStorageError:  # it had begun to be passed on
            found = await read_all(reader, key)
        assert found == data


async def test_room_is_made_by_what_was_used_longest_ago(source: Source) -> None:
    reader = PullThroughReader(source, cache := ObjectCache(MemoryObjectStore(), bytes_max=10))
    first, second, third = (planted(source, data) for data in (b"1111", b"2222", b"3333"))
    for key in (first, second, first, third):
        await reader.read(key)
    assert [await cache.size_of(key) for key in (first, second, third)] == [4, None, 4]


async def test_what_is_nowhere_is_not_found_and_may_come_later(source: Source, reader: PullThroughReader) -> None:
    key = key_of(b"later")
    with pytest.raises(ObjectNotFound):
        await reader.read(key)
    planted(source, b"later")
    assert await reader.read(key) == b"later"
