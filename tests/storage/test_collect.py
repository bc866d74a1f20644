"""Garbage collection: what goes, what stays, and that no order of calls makes it take what is being published."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from opendatafabric.chain.objects import objects_of
from opendatafabric.errors import StorageError, UnsupportedOperation
from opendatafabric.layout import data_key
from opendatafabric.multihash import physical_hash
from storage import leases as leases_module
from storage.collect import collect
from storage.dataset import Dataset
from storage.leases import pinned, sweeping
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.protocols import ObjectStore
from storage.uploads import Uploads
from storage.values import Capabilities
from tests.storage.gates import Gates, gated_stores
from tests.suites.collecting import DAY_S, CollectingSuite, counts, published, replaced, store_all
from tests.suites.dataset import fill, objects_in
from tests.suites.object_store import pieces_of

pytestmark = pytest.mark.slow


class TestInMemory(CollectingSuite):
    @pytest.fixture
    def empty(self) -> Dataset:
        return Dataset(MemoryObjectStore(), MemoryRefStore())

    def make_old(self, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
        assert isinstance(store, MemoryObjectStore)
        store._times.update(dict.fromkeys(store.quarantined, 0.0))


class TestInAFolder(CollectingSuite):
    @pytest.fixture
    def empty(self, tmp_path: Path) -> Dataset:
        return Dataset(LocalObjectStore(tmp_path), LocalRefStore(tmp_path))

    def make_old(self, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
        assert isinstance(store, LocalObjectStore)
        make_files_old(store)


def make_files_old(store: LocalObjectStore) -> None:
    for path in store.root.glob("data/.pending-*"):
        os.utime(path, (0, 0))


async def test_a_store_that_can_only_be_read_is_not_collected() -> None:
    objects = MemoryObjectStore()
    objects.capabilities = Capabilities(writable=False, listable=True)
    with pytest.raises(UnsupportedOperation):
        await collect(Dataset(objects, MemoryRefStore()), grace_s=0)


async def test_a_dataset_without_a_head_is_collected_too(tmp_path: Path) -> None:
    dataset = Dataset(LocalObjectStore(tmp_path), LocalRefStore(tmp_path))
    await store_all(dataset, replaced())
    assert counts(await collect(dataset, grace_s=-1)) == {"blocks": 4 + 1, "data": 1}


async def test_a_resumable_upload_keeps_its_bytes(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    uploads = Uploads(store, lease_s=DAY_S)
    upload = await uploads.begin(data_key(physical_hash(b"whole")), size=5, size_max=9, now=0)
    await uploads.append(upload.id, pieces_of(b"wh"), offset=0, now=0)
    make_files_old(store)
    assert counts(await collect(Dataset(store, LocalRefStore(tmp_path)), grace_s=-1)) == {}
    assert (await uploads.find(upload.id, now=1)).offset == 2


async def test_a_file_that_is_being_written_is_kept_whatever_the_clock_says(tmp_path: Path) -> None:
    store = LocalObjectStore(tmp_path)
    began, go_on = asyncio.Event(), asyncio.Event()

    async def pieces():  # type: ignore[no-untyped-def]
        yield b"x" * 2_000_000
        began.set()
        await go_on.wait()
        yield b"y"

    upload = asyncio.create_task(store.quarantine(pieces(), size_max=9_000_000))
    await began.wait()
    for path in (tmp_path / "data").glob(".pending-*"):
        os.utime(path, (0, 0))  # the clock jumped far ahead
    assert await store.expire_quarantine(before=1e12) == []
    go_on.set()
    assert (await upload).size == 2_000_001


async def test_a_collection_that_fails_or_is_ended_leaves_no_deletion_under_way() -> None:
    for end in ("failure", "cancel"):
        store = HalfDeleting(fails=end == "failure")
        dataset = Dataset(store, MemoryRefStore())
        await store_all(dataset, replaced())
        collecting = asyncio.create_task(collect(dataset, grace_s=-1))
        await store.all_began.wait()
        if end == "cancel":
            collecting.cancel()
        assert len(await store.leases.standing()) == 1
        store.go_on.set()
        await asyncio.wait({collecting})
        assert store.under_way == 0
        assert await store.leases.standing() == []


class HalfDeleting(MemoryObjectStore):
    """Deletes only when told to go on, but for one key, which may fail at once."""

    def __init__(self, *, fails: bool) -> None:
        super().__init__()
        self.fails, self.under_way = fails, 0
        self.all_began, self.go_on = asyncio.Event(), asyncio.Event()

    async def delete(self, key: str) -> None:
        self.under_way += 1
        try:
            if self.under_way == len(self.objects):
                self.all_began.set()
                if self.fails:
                    raise StorageError("the disk is gone")
            await self.go_on.wait()
            await super().delete(key)
        finally:
            self.under_way -= 1


# --- every order of calls

END = 80
"""More calls than an actor makes, those included with which it looks whether a sweep has ended."""

Actor = Callable[[Dataset], Awaitable[None]]


async def push_what_is_garbage(dataset: Dataset) -> None:
    """All of it is stored already, so nothing is sent but the ref moves."""
    head = await dataset.head()
    files = [file for block in replaced().blocks for file in objects_of(block)]
    async with dataset.held(files):
        if await dataset.missing_objects(files):
            await objects_in(dataset).put_many({data_key(name): data for name, data in replaced().slices.items()})
        await dataset.append(replaced().blocks[2:], expected_head=head, force=True)


async def push_on_top_of_garbage(dataset: Dataset) -> None:
    builder = replaced().fork(len(replaced().blocks))
    new = builder.info("on top")
    await dataset.append([new], expected_head=await dataset.head(), force=True)


async def collect_all(dataset: Dataset) -> None:
    await collect(dataset, grace_s=-1)


async def played(push: Actor, *, first: int, steps: tuple[int, int]) -> tuple[Dataset, bool]:
    """Actor ``first`` makes so many calls, the other so many, then the first goes to its end, then the other."""
    gates = Gates()
    dataset = Dataset(*gated_stores(gates))
    await fill(dataset, published())
    await store_all(dataset, replaced())
    gates.begin(push(Dataset(dataset.objects, dataset.refs)))  # type: ignore[arg-type]
    gates.begin(collect_all(dataset))  # type: ignore[arg-type]
    await gates.settle()
    done_early = False
    for actor, count in ((first, steps[0]), (1 - first, steps[1]), (first, END), (1 - first, END), (first, END)):
        for _ in range(count):
            own = [number for number, gate in enumerate(gates.waiting) if gate.actor == actor]
            if not own:
                done_early |= count < END
                break
            gates.let(own[0])
            await gates.settle()
    results = await asyncio.gather(*gates.actors.values(), return_exceptions=True)
    assert not isinstance(results[1], BaseException), results[1]
    return dataset, done_early


async def assert_whole(dataset: Dataset) -> None:
    head = await dataset.head()
    assert head is not None
    async for batch in dataset.walk(head):
        for block in batch:
            assert await dataset.missing_objects(objects_of(block)) == []


@pytest.mark.parametrize("stride", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("first", [0, 1], ids=["push-first", "collection-first"])
@pytest.mark.parametrize("push", [push_what_is_garbage, push_on_top_of_garbage])
async def test_no_order_of_calls_lets_a_collection_take_what_is_published(
    push: Actor, first: int, stride: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases_module, "_POLL_S", (0, 0))
    for own in range(0, END, stride):
        for other in range(0, END, stride):
            dataset, finished = await played(push, first=first, steps=(own, other))
            await assert_whole(dataset)
            if finished:
                break
        if finished and other == 0:
            return


async def test_a_publisher_waits_for_the_sweep_that_was_first_and_for_no_later_one() -> None:
    leases = MemoryObjectStore().leases
    reached = asyncio.Event()

    async def publish() -> None:
        async with pinned(leases, [data_key(physical_hash(b"x"))]):
            reached.set()
            await asyncio.Event().wait()

    async with sweeping(leases) as sweep:
        assert not sweep.pins
        publishing = asyncio.create_task(publish())
        await asyncio.wait({publishing}, timeout=0.1)
        assert len(await leases.standing()) == 2
        assert not reached.is_set()
    await reached.wait()
    async with sweeping(leases) as sweep:
        assert len(sweep.pins) == 1
    publishing.cancel()
    await asyncio.gather(publishing, return_exceptions=True)
    assert await leases.standing() == []
