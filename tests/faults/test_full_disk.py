"""A disk that fills up, on a small file system in memory: refused in time, nothing left, reading goes on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from opendatafabric.errors import RefConflict, StorageError, StorageFull
from opendatafabric.layout import block_key
from opendatafabric.multihash import physical_hash
from storage.collect import collect
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.repository import Repository
from storage.scrub import scrub
from sync.backup import copy_repository
from tests.faults.chores import BEFORE, CHORES, SOURCE, Chore, repeated
from tests.storage.chains import dataset_id
from tests.suites.object_store import key_of, keys_in, pieces_of

MEBIBYTE = 1024 * 1024
DISK_MEBIBYTES = 8


def mounted(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"cannot mount a small file system (needs root): {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    yield from mounted(tmp_path / "disk", f"size={DISK_MEBIBYTES}m")


@pytest.fixture
def few_inodes(tmp_path: Path) -> Iterator[Path]:
    yield from mounted(tmp_path / "disk", "size=8m,nr_inodes=12")


async def upload(store: LocalObjectStore, data: bytes) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(data), 64 * 1024):
            yield data[start : start + 64 * 1024]

    quarantined = await store.quarantine(pieces(), size_max=len(data))
    await store.publish(quarantined, key_of(data))


def hidden_files(folder: Path) -> list[Path]:
    return list(folder.rglob(".pending-*"))


def fill_up(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


async def put_small_objects(store: LocalObjectStore) -> None:
    for number in range(20):
        await store.put(key_of(b"%d" % number), b"%d" % number)


@pytest.mark.parametrize("filled", range(DISK_MEBIBYTES))
async def test_an_upload_that_does_not_fit_leaves_nothing(small_disk: Path, filled: int) -> None:
    store = LocalObjectStore(small_disk)
    if filled:
        await upload(store, bytes(filled * MEBIBYTE))
    before = await keys_in(store)
    with pytest.raises(StorageFull) as full:
        await upload(store, b"\1" * (DISK_MEBIBYTES + 1) * MEBIBYTE)
    assert not full.value.retryable
    assert full.value.hint
    assert await keys_in(store) == before
    assert hidden_files(small_disk) == []
    for key in before:
        await store.delete(key)
    await upload(store, b"\1" * (DISK_MEBIBYTES - 1) * MEBIBYTE)


async def test_many_blocks_that_do_not_fit_leave_whole_ones_only(small_disk: Path) -> None:
    store = LocalObjectStore(small_disk)
    blocks = {block_key(physical_hash(data)): data for data in (bytes([i]) * MEBIBYTE for i in range(12))}
    with pytest.raises(StorageFull):
        await store.put_many(blocks)
    for key in await keys_in(store):
        assert await store.read(key) == blocks[key]
    assert hidden_files(small_disk) == []


async def test_a_full_disk_keeps_the_old_head(small_disk: Path) -> None:
    refs, store = LocalRefStore(small_disk), LocalObjectStore(small_disk)
    old, new = physical_hash(b"old"), physical_hash(b"new")
    await refs.compare_and_swap("head", expected=None, new=old)
    await store.put(key_of(b"x"), b"x")
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        fill_up(filler)
    with pytest.raises(StorageFull):
        await refs.compare_and_swap("head", expected=old, new=new)
    assert await refs.read("head") == old
    with pytest.raises(RefConflict):
        await refs.compare_and_swap("head", expected=new, new=old)
    filler.unlink()
    await refs.compare_and_swap("head", expected=old, new=new)


async def test_running_out_of_inodes_is_a_full_disk(few_inodes: Path) -> None:
    store = LocalObjectStore(few_inodes)
    with pytest.raises(StorageFull):
        await put_small_objects(store)
    with pytest.raises(StorageFull):
        await store.quarantine(pieces_of(b"x"), size_max=9)
    for key in await keys_in(store):
        assert key_of(await store.read(key)) == key


def chore(name: str) -> Chore:
    return next(each for each in CHORES if each.name == name)


@pytest.mark.parametrize("name", ["heal", "copy"])
async def test_healing_and_backing_up_wait_for_room_and_leave_all_as_it_was(
    small_disk: Path, tmp_path: Path, name: str
) -> None:
    await chore(name).prepare(small_disk)
    shutil.copytree(small_disk, tmp_path / BEFORE)
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        fill_up(filler)
    with pytest.raises(StorageFull):
        await chore(name).run(small_disk)
    assert hidden_files(small_disk) == []
    filler.unlink()
    await repeated(chore(name), tmp_path / BEFORE, small_disk)


def remount(disk: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(disk)], check=True)


@pytest.mark.parametrize("name", ["collect", "heal", "copy"])
async def test_what_would_write_to_a_read_only_disk_says_so_and_goes_on_once_it_may(
    small_disk: Path, tmp_path: Path, name: str
) -> None:
    await chore(name).prepare(small_disk)
    shutil.copytree(small_disk, tmp_path / BEFORE)
    remount(small_disk, "ro")
    with pytest.raises(StorageError) as refused:
        await chore(name).run(small_disk)
    assert refused.value.hint == "the store must be writable by the user that runs this program"
    remount(small_disk, "rw")
    await repeated(chore(name), tmp_path / BEFORE, small_disk)


async def test_a_read_only_disk_is_scrubbed_and_backed_up(small_disk: Path, tmp_path: Path) -> None:
    await chore("copy").prepare(small_disk)
    remount(small_disk, "ro")
    source, copy = Repository.open(small_disk / SOURCE), Repository.init(tmp_path / "copy")
    entry = await source.find(dataset_id())
    assert [done async for done in scrub(entry.dataset, sources=[entry.dataset.objects]) if done.damage] == []
    assert [copied.alias async for copied in copy_repository(source, copy)] == [entry.alias]


async def test_garbage_is_collected_on_a_full_disk(small_disk: Path) -> None:
    store = LocalObjectStore(small_disk)
    await upload(store, bytes(4 * MEBIBYTE))
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        fill_up(filler)
    collected = await collect(Dataset(store, LocalRefStore(small_disk)), grace_s=-1)
    assert collected.freed_bytes == 4 * MEBIBYTE
    await upload(store, b"\1" * 3 * MEBIBYTE)
