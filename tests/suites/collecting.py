"""Garbage collection over any stores as a class: subclass, give an ``empty`` dataset and ``make_old``, run."""

from __future__ import annotations

import pytest

from opendatafabric.layout import block_key, data_key, report_key
from opendatafabric.multihash import physical_hash
from storage.collect import QUARANTINE, Collected, collect
from storage.dataset import Dataset
from storage.leases import held_head, pinned
from storage.protocols import ObjectStore
from tests.storage.chains import ChainBuilder, chain
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


def counts(collected: Collected) -> dict[str, int]:
    return {kind: amount.count for kind, amount in collected.freed.items() if amount.count}


class CollectingSuite:
    def make_old(self, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let everything that waits in quarantine have done so for long."""
        raise NotImplementedError

    @pytest.fixture
    async def dataset(self, empty: Dataset) -> Dataset:
        """The published chain, with what a replaced one left."""
        await fill(empty, published())
        await store_all(empty, replaced())
        return empty

    async def test_what_no_ref_leads_to_goes_and_is_counted(self, dataset: Dataset) -> None:
        collected = await collect(dataset, grace_s=-1)
        assert await stored_keys(dataset) == keys_of(published())
        assert counts(collected) == {"blocks": 3, "data": 1}
        assert collected.freed["data"].bytes == len(b"replaced slice")
        assert collected.freed_bytes == collected.freed["blocks"].bytes + len(b"replaced slice")
        assert counts(await collect(dataset, grace_s=-1)) == {}

    async def test_what_another_ref_leads_to_stays(self, dataset: Dataset) -> None:
        await dataset.append(replaced().blocks[2:], expected_head=None, force=True, block_ref="staging")
        assert counts(await collect(dataset, grace_s=-1)) == {}
        assert await stored_keys(dataset) == keys_of(published()) | keys_of(replaced())

    async def test_a_dry_run_counts_and_takes_nothing(self, dataset: Dataset) -> None:
        before = await stored_keys(dataset)
        assert counts(await collect(dataset, grace_s=-1, dry_run=True)) == {"blocks": 3, "data": 1}
        assert await stored_keys(dataset) == before

    async def test_reports_are_no_garbage(self, dataset: Dataset) -> None:
        report = report_key(physical_hash(b"report"))
        await objects_in(dataset).put(report, b"report")
        await collect(dataset, grace_s=-1)
        assert await objects_in(dataset).read(report) == b"report"

    async def test_the_young_is_kept(self, dataset: Dataset) -> None:
        collected = await collect(dataset, grace_s=DAY_S)
        assert (counts(collected), collected.kept.count) == ({}, 4)

    async def test_what_is_held_is_kept_until_it_is_let_go(self, dataset: Dataset) -> None:
        slice_key = data_key(physical_hash(b"replaced slice"))
        async with pinned(objects_in(dataset).leases, [slice_key]):
            assert counts(await collect(dataset, grace_s=-1)) == {"blocks": 3}
        assert counts(await collect(dataset, grace_s=-1)) == {"data": 1}

    async def test_a_chain_that_is_read_stays_until_its_reader_is_done(self, dataset: Dataset) -> None:
        async with held_head(objects_in(dataset).leases, replaced().head):
            assert counts(await collect(dataset, grace_s=-1)) == {}
        assert counts(await collect(dataset, grace_s=-1)) == {"blocks": 3, "data": 1}

    async def test_bytes_that_were_never_published_go_once_old(
        self, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = objects_in(dataset)
        quarantined = await store.quarantine(pieces_of(b"half"), size_max=9)
        assert QUARANTINE not in counts(await collect(dataset, grace_s=-1))
        await store.discard(quarantined)
        await store.quarantine(pieces_of(b"half"), size_max=9)
        self.make_old(store, monkeypatch)
        assert counts(await collect(dataset, grace_s=-60))[QUARANTINE] == 1

    async def test_a_damaged_chain_is_left_alone(self, dataset: Dataset) -> None:
        before = await stored_keys(dataset)
        lost = block_key(published().blocks[1].hash)
        await objects_in(dataset).delete(lost)
        collected = await collect(dataset, grace_s=-1)
        assert collected.refused is not None
        assert collected.as_dict()["refused"]["code"] == "block-not-found"  # type: ignore[index]
        assert await stored_keys(dataset) == before - {lost}
