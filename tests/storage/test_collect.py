"""Garbage collection: what goes, what stays, and that no order of calls makes it take what is being published."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from opendatafabric.chain.objects import objects_of
from opendatafabric.errors import UnsupportedOperation
from opendatafabric.layout import block_key, data_key
from opendatafabric.multihash import physical_hash
from storage import leases as leases_module
from storage.collect import QUARANTINE, Collected, collect
from storage.dataset import Dataset
from storage.leases import held_head, pinned, sweeping
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.protocols import ObjectStore
from storage.uploads import Uploads
from storage.values import Capabilities
from tests.storage.chains import ChainBuilder, chain
from tests.storage.gates import Gates, gated_stores
from tests.suites.dataset import fill, objects_in, stored_keys
from tests.suites.object_store import pieces_of

DAY_S = 86_400


def published() -> ChainBuilder:
    builder = chain(["kept"])
    builder.data(b"kept slice")
    return builder


def replaced() -> ChainBuilder:
    """Once published, then replaced by force: blocks and a slice that nobody needs."""
    builder = published().fork(2)
    builder.slices.clear()
    builder.info("replaced")
    builder.data(b"replaced slice")
    return builder


def keys_of(builder: ChainBuilder) -> set[str]:
    return {*(block_key(block.hash) for block in builder.blocks), *map(data_key, builder.slices)}


async def store_all(dataset: Dataset, builder: ChainBuilder) -> None:
    blocks = {block_key(block.hash): block.raw for block in builder.blocks}
    await objects_in(dataset).put_many({**blocks, **{data_key(name): data for name, data in builder.slices.items()}})


@pytest.fixture(params=["memory", "local"])
async def dataset(request: pytest.FixtureRequest, tmp_path: Path) -> Dataset:
    """The published chain, with what a replaced one left."""
    local = request.param == "local"
    dataset = (
        Dataset(LocalObjectStore(tmp_path), LocalRefStore(tmp_path))
        if local
        else Dataset(MemoryObjectStore(), MemoryRefStore())
    )
    await fill(dataset, published())
    await store_all(dataset, replaced())
    return dataset


def make_old(store: ObjectStore) -> None:
    """Everything that waits in quarantine has done so since 1970."""
    if isinstance(store, MemoryObjectStore):
        store._times.update(dict.fromkeys(store.quarantined, 0.0))
    elif isinstance(store, LocalObjectStore):
        for path in store.root.glob("data/.pending-*"):
            os.utime(path, (0, 0))


def counts(collected: Collected) -> dict[str, int]:
    return {kind: amount.count for kind, amount in collected.freed.items() if amount.count}


async def test_what_no_ref_leads_to_goes_and_is_counted(dataset: Dataset) -> None:
    collected = await collect(dataset, grace_s=-1)
    assert await stored_keys(dataset) == keys_of(published())
    assert counts(collected) == {"blocks": 3, "data": 1}
    assert collected.freed["data"].bytes == len(b"replaced slice")
    assert collected.freed_bytes == collected.freed["blocks"].bytes + len(b"replaced slice")
    assert counts(await collect(dataset, grace_s=-1)) == {}


async def test_what_another_ref_leads_to_stays(dataset: Dataset) -> None:
    await dataset.append(replaced().blocks[2:], expected_head=None, force=True, block_ref="staging")
    assert counts(await collect(dataset, grace_s=-1)) == {}
    assert await stored_keys(dataset) == keys_of(published()) | keys_of(replaced())


async def test_a_dry_run_counts_and_takes_nothing(dataset: Dataset) -> None:
    before = await stored_keys(dataset)
    assert counts(await collect(dataset, grace_s=-1, dry_run=True)) == {"blocks": 3, "data": 1}
    assert await stored_keys(dataset) == before


async def test_the_young_is_kept(dataset: Dataset) -> None:
    collected = await collect(dataset, grace_s=DAY_S)
    assert (counts(collected), collected.kept.count) == ({}, 4)


async def test_what_is_held_is_kept_until_it_is_let_go(dataset: Dataset) -> None:
    slice_key = data_key(physical_hash(b"replaced slice"))
    async with pinned(objects_in(dataset).leases, [slice_key]):
        assert counts(await collect(dataset, grace_s=-1)) == {"blocks": 3}
    assert counts(await collect(dataset, grace_s=-1)) == {"data": 1}


async def test_a_chain_that_is_read_stays_until_its_reader_is_done(dataset: Dataset) -> None:
    async with held_head(objects_in(dataset).leases, replaced().head):
        assert counts(await collect(dataset, grace_s=-1)) == {}
    assert counts(await collect(dataset, grace_s=-1)) == {"blocks": 3, "data": 1}


async def test_bytes_that_were_never_published_go_once_old(dataset: Dataset) -> None:
    store = objects_in(dataset)
    quarantined = await store.quarantine(pieces_of(b"half"), size_max=9)
    assert QUARANTINE not in counts(await collect(dataset, grace_s=-1))
    await store.discard(quarantined)
    await store.quarantine(pieces_of(b"half"), size_max=9)
    make_old(store)
    assert counts(await collect(dataset, grace_s=0))[QUARANTINE] == 1


async def test_a_damaged_chain_is_left_alone(dataset: Dataset) -> None:
    before = await stored_keys(dataset)
    lost = block_key(published().blocks[1].hash)
    await objects_in(dataset).delete(lost)
    collected = await collect(dataset, grace_s=-1)
    assert collected.refused is not None
    assert collected.as_dict()["refused"]["code"] == "block-not-found"  # type: ignore[index]
    assert await stored_keys(dataset) == before - {lost}


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
    make_old(store)
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
