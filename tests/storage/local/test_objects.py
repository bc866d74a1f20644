"""Objects in a folder: the contract of stores, and what is particular to files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opendatafabric.errors import DatasetNotFound, LimitExceeded, ObjectNotFound, StorageError
from opendatafabric.layout import block_key
from opendatafabric.multihash import physical_hash
from storage.local.objects import LocalObjectStore
from storage.protocols import ObjectReader
from tests.suites.object_store import ObjectStoreSuite, key_of, keys_in, pieces_of, read_all


@pytest.fixture
def store(tmp_path: Path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path)


class TestLocalObjects(ObjectStoreSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> LocalObjectStore:
        return LocalObjectStore(tmp_path)

    def plant(self, store: ObjectReader, key: str, data: bytes) -> None:
        assert isinstance(store, LocalObjectStore)
        path = store.root / key
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)


def hidden_files(store: LocalObjectStore) -> list[Path]:
    return [path for path in store.root.rglob(".*") if path.is_file()]


async def test_an_object_lies_where_the_reference_puts_it(store: LocalObjectStore) -> None:
    block_hash = physical_hash(b"block")
    await store.put(block_key(block_hash), b"block")
    assert (store.root / "blocks" / str(block_hash)).read_bytes() == b"block"


async def test_every_write_cleans_up_after_itself(store: LocalObjectStore) -> None:
    await store.put(key_of(b"1"), b"1")
    await store.put_many({key_of(b"%d" % i): b"%d" % i for i in range(9)})
    await store.publish(await store.quarantine(pieces_of(b"q"), size_max=9), key_of(b"q"))
    await store.discard(await store.quarantine(pieces_of(b"d"), size_max=9))
    with pytest.raises(LimitExceeded):
        await store.quarantine(pieces_of(b"too much"), size_max=2)
    assert hidden_files(store) == []


async def test_names_that_start_with_a_dot_are_not_listed(store: LocalObjectStore) -> None:
    await store.put(key_of(b"1"), b"1")
    (store.root / "data" / ".pending-0123456789abcdef").write_bytes(b"half")
    (store.root / "data" / ".nfs0001").write_bytes(b"")
    (store.root / "data" / "README").write_bytes(b"")
    assert await keys_in(store) == {key_of(b"1")}


async def test_a_planted_symbolic_link_is_not_followed(store: LocalObjectStore, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (store.root / "data").mkdir()
    (store.root / key_of(b"x")).symlink_to(secret)
    with pytest.raises(ObjectNotFound):
        await store.stat(key_of(b"x"))
    with pytest.raises(ObjectNotFound):
        await store.read(key_of(b"x"))
    with pytest.raises(ObjectNotFound):
        await read_all(store, key_of(b"x"))
    assert await keys_in(store) == set()


async def test_writing_replaces_a_planted_symbolic_link_and_not_its_target(
    store: LocalObjectStore, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (store.root / "data").mkdir()
    (store.root / key_of(b"x")).symlink_to(secret)
    await store.put(key_of(b"x"), b"x")
    assert secret.read_bytes() == b"secret"
    assert await store.read(key_of(b"x")) == b"x"


async def test_a_folder_that_is_a_symbolic_link_is_not_entered(store: LocalObjectStore, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / str(physical_hash(b"x"))).write_bytes(b"x")
    (store.root / "data").symlink_to(elsewhere)
    with pytest.raises(ObjectNotFound):
        await store.read(key_of(b"x"))
    with pytest.raises(StorageError):
        await store.put(key_of(b"y"), b"y")
    assert await keys_in(store) == set()


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
async def test_what_is_no_plain_file_is_no_object(store: LocalObjectStore, make: object) -> None:
    (store.root / "data").mkdir()
    assert callable(make)
    make(store.root / key_of(b"x"))
    with pytest.raises(ObjectNotFound):
        await store.read(key_of(b"x"))
    with pytest.raises(ObjectNotFound):
        await store.stat(key_of(b"x"))


async def test_writing_into_a_folder_that_is_gone_does_not_bring_it_back(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path / "deleted")
    with pytest.raises(DatasetNotFound):
        await store.put(key_of(b"x"), b"x")
    with pytest.raises(DatasetNotFound):
        await store.put_many({key_of(b"x"): b"x"})
    with pytest.raises(DatasetNotFound):
        await store.quarantine(pieces_of(b"x"), size_max=9)
    assert not store.root.exists()


async def test_quarantine_survives_a_restart(store: LocalObjectStore) -> None:
    quarantined = await store.quarantine(pieces_of(b"kept"), size_max=9)
    await LocalObjectStore(store.root).publish(quarantined, key_of(b"kept"))
    assert await store.read(key_of(b"kept")) == b"kept"


async def test_open_files_are_closed(store: LocalObjectStore) -> None:
    await store.put(key_of(b"x"), b"x")
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        await store.read(key_of(b"x"))
        await read_all(store, key_of(b"x"))
        await store.follow(key_of(b"x"), lambda _: None, count_max=2)
        await store.publish(await store.quarantine(pieces_of(b"q"), size_max=9), key_of(b"q"))
        with pytest.raises(ObjectNotFound):
            await store.read(key_of(b"absent"))
        with pytest.raises(LimitExceeded):
            await store.quarantine(pieces_of(b"too much"), size_max=2)
    assert len(os.listdir("/proc/self/fd")) == len(before)


async def test_a_reader_that_stops_early_closes_its_file(store: LocalObjectStore) -> None:
    data = bytes(3_000_000)
    await store.put(key_of(data), data)
    before = len(os.listdir("/proc/self/fd"))
    stream = store.stream(key_of(data))
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    assert len(os.listdir("/proc/self/fd")) == before
