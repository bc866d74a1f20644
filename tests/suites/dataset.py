"""The contract of Dataset over any pair of stores: subclass, give a ``dataset`` fixture, run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from opendatafabric.chain.objects import objects_of
from opendatafabric.codec.block_codec import encode_block
from opendatafabric.errors import (
    BlockNotFound,
    ChainError,
    ChainsDiverged,
    HashMismatch,
    ObjectNotFound,
    RefConflict,
    RefNotFound,
    SeedConflict,
    SizeMismatch,
)
from opendatafabric.layout import block_key, data_key
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import DatasetKind, Seed, SetInfo
from opendatafabric.multihash import Multihash, physical_hash
from storage.chain_walk import WalkedHeader
from storage.dataset import Dataset
from storage.protocols import ObjectStore
from storage.values import WriteMode
from tests.storage.chains import ChainBuilder, chain, dataset_id


def objects_in(dataset: Dataset) -> ObjectStore:
    objects = dataset.objects
    assert objects.capabilities.writable
    return objects  # type: ignore[return-value]


async def stored_keys(dataset: Dataset) -> set[str]:
    return {info.key async for info in dataset.objects.list()}


async def fill(dataset: Dataset, builder: ChainBuilder) -> Multihash:
    """Store the slices and the whole chain of ``builder``."""
    await objects_in(dataset).put_many({data_key(name): data for name, data in builder.slices.items()})
    return await dataset.append(builder.blocks, expected_head=None)


async def walked(batches: AsyncIterator[list[HashedBlock]]) -> list[HashedBlock]:
    return [block async for batch in batches for block in batch]


async def walked_headers(batches: AsyncIterator[list[WalkedHeader]]) -> list[WalkedHeader]:
    return [header async for batch in batches for header in batch]


class DatasetSuite:
    async def test_a_new_dataset_has_no_head_and_no_seed(self, dataset: Dataset) -> None:
        assert await dataset.head() is None
        with pytest.raises(RefNotFound):
            await dataset.seed()

    async def test_a_chain_is_appended_and_read_back(self, dataset: Dataset) -> None:
        builder = chain(["a", "b"])
        assert await dataset.append(builder.blocks, expected_head=None) == builder.head
        assert await dataset.head() == builder.head
        assert await walked(dataset.walk(builder.head)) == builder.blocks[::-1]

    async def test_blocks_are_kept_byte_for_byte(self, dataset: Dataset) -> None:
        builder = chain(["a"])
        await fill(dataset, builder)
        for block in builder.blocks:
            assert await dataset.read_raw_block(block.hash) == block.raw
            assert await dataset.read_block(block.hash) == block
            assert await dataset.has_block(block.hash)

    async def test_an_unknown_block_is_not_found(self, dataset: Dataset) -> None:
        unknown = physical_hash(b"unknown")
        assert not await dataset.has_block(unknown)
        with pytest.raises(BlockNotFound, match=str(unknown)):
            await dataset.read_block(unknown)
        with pytest.raises(BlockNotFound):
            await walked(dataset.walk(unknown))
        with pytest.raises(BlockNotFound):
            await dataset.chain_state(unknown)

    async def test_a_damaged_block_is_never_returned(self, dataset: Dataset) -> None:
        builder = chain(["a", "b", "c"])
        await fill(dataset, builder)
        damaged = builder.blocks[1]
        raw = bytearray(damaged.raw)
        raw[len(raw) // 2] ^= 1
        await objects_in(dataset).put(block_key(damaged.hash), bytes(raw), WriteMode.REPLACE)
        for read in (dataset.read_raw_block(damaged.hash), dataset.read_block(damaged.hash)):
            with pytest.raises(HashMismatch, match=str(damaged.hash)):
                await read
        with pytest.raises(HashMismatch):
            await walked(dataset.walk(builder.head))
        with pytest.raises(HashMismatch):
            await walked_headers(dataset.walk_headers(builder.head))

    async def test_a_walk_stops_before_the_given_block(self, dataset: Dataset) -> None:
        builder = chain(["a", "b", "c"])
        await fill(dataset, builder)
        found = await walked(dataset.walk(builder.head, stop_before=builder.blocks[1].hash))
        assert found == [builder.blocks[3], builder.blocks[2]]
        assert await walked(dataset.walk(builder.head, stop_before=builder.head)) == []

    async def test_a_walk_past_an_unmet_stop_ends_at_the_seed(self, dataset: Dataset) -> None:
        builder = chain(["a"])
        await fill(dataset, builder)
        assert await walked(dataset.walk(builder.head, stop_before=physical_hash(b"elsewhere"))) == builder.blocks[::-1]

    async def test_headers_say_what_the_blocks_say(self, dataset: Dataset) -> None:
        builder = chain([str(number) for number in range(40)])
        await fill(dataset, builder)
        found = await walked_headers(dataset.walk_headers(builder.head))
        assert [(each.hash, each.sequence_number, each.prev_block_hash, each.size) for each in found] == [
            (block.hash, block.sequence_number, block.prev_block_hash, len(block.raw))
            for block in reversed(builder.blocks)
        ]

    async def test_additions_come_with_the_bytes_of_every_block(self, dataset: Dataset) -> None:
        builder = chain([str(number) for number in range(1_100)])
        await fill(dataset, builder)
        found = [block async for batch in dataset.walk_additions(builder.head) for block in batch]
        assert [(name, raw) for name, raw, _ in found] == [
            (str(block.hash), block.raw) for block in reversed(builder.blocks)
        ]

    async def test_named_blocks_are_read_in_the_order_asked_for(self, dataset: Dataset) -> None:
        builder = chain([str(number) for number in range(40)])
        await fill(dataset, builder)
        assert await walked(dataset.read_blocks([block.hash for block in builder.blocks])) == builder.blocks

    async def test_a_chain_is_continued(self, dataset: Dataset) -> None:
        builder = chain(["a"])
        await fill(dataset, builder)
        old_head = builder.head
        added = [builder.info("b"), builder.info("c")]
        await dataset.append(added, expected_head=old_head)
        assert await walked(dataset.walk(builder.head)) == builder.blocks[::-1]

    async def test_the_seed_is_known(self, dataset: Dataset) -> None:
        await fill(dataset, chain(["a"], number=7))
        assert await dataset.seed() == Seed(dataset_id(7), DatasetKind.ROOT)

    async def test_the_state_of_a_chain_is_that_of_its_blocks(self, dataset: Dataset) -> None:
        builder = chain(["a"])
        builder.data(b"slice")
        await fill(dataset, builder)
        state = await Dataset(dataset.objects, dataset.refs).chain_state(builder.head)
        assert (state.head, state.block_count, state.last_offset) == (builder.head, len(builder.blocks), 9)
        assert state == await dataset.chain_state(builder.head)
        assert (await dataset.chain_state(None)).block_count == 0

    async def test_the_state_continues_from_a_known_one(self, dataset: Dataset) -> None:
        builder = chain(["a", "b"])
        await fill(dataset, builder)
        middle = await dataset.chain_state(builder.blocks[1].hash)
        assert middle.block_count == 2
        assert (await dataset.chain_state(builder.head)).block_count == 3

    async def test_a_stale_expected_head_is_refused(self, dataset: Dataset) -> None:
        builder = chain(["a"])
        await fill(dataset, builder)
        old_head = builder.head
        await dataset.append([builder.info("b")], expected_head=old_head)
        rival = builder.fork(2)
        with pytest.raises(RefConflict):
            await dataset.append([rival.info("rival")], expected_head=old_head)
        assert await dataset.head() == builder.head
        assert not await dataset.has_block(rival.head)

    async def test_of_two_writers_one_wins_and_one_is_told(self, dataset: Dataset) -> None:
        builder = chain(["a"])
        await fill(dataset, builder)
        rivals = [builder.fork(2) for _ in range(2)]
        for number, rival in enumerate(rivals):
            rival.info(f"rival {number}")
        results = await asyncio.gather(
            *(dataset.append(rival.blocks[2:], expected_head=builder.head) for rival in rivals), return_exceptions=True
        )
        winners = [result for result in results if isinstance(result, Multihash)]
        assert [type(result) for result in results if not isinstance(result, Multihash)] == [RefConflict]
        assert winners == [await dataset.head()]

    async def test_blocks_that_do_not_continue_the_head_diverge(self, dataset: Dataset) -> None:
        builder = chain(["a", "b"])
        await fill(dataset, builder)
        rival = builder.fork(2)
        with pytest.raises(ChainsDiverged):
            await dataset.append([rival.info("rival")], expected_head=builder.head)
        with pytest.raises(ChainsDiverged):
            await dataset.append(chain(["anew"]).blocks, expected_head=builder.head)
        assert await dataset.head() == builder.head

    async def test_force_replaces_the_end_of_a_chain(self, dataset: Dataset) -> None:
        builder = chain(["a", "b"])
        await fill(dataset, builder)
        rival = builder.fork(2)
        await dataset.append([rival.info("rival")], expected_head=builder.head, force=True)
        assert await walked(dataset.walk(rival.head)) == rival.blocks[::-1]
        assert await dataset.has_block(builder.head)

    async def test_force_replaces_a_whole_chain_with_the_same_seed(self, dataset: Dataset) -> None:
        builder = chain(["a"])
        await fill(dataset, builder)
        rival = chain(["x", "y"])
        await dataset.append(rival.blocks, expected_head=builder.head, force=True)
        assert await dataset.head() == rival.head

    async def test_force_still_compares_the_head(self, dataset: Dataset) -> None:
        await fill(dataset, chain(["a"]))
        with pytest.raises(RefConflict):
            await dataset.append(chain(["x"]).blocks, expected_head=None, force=True)

    @pytest.mark.parametrize(
        "rival", [chain(["x"], number=2), ChainBuilder(kind=DatasetKind.DERIVATIVE)], ids=["other id", "other kind"]
    )
    async def test_force_never_changes_what_a_dataset_is(self, dataset: Dataset, rival: ChainBuilder) -> None:
        builder = chain(["a"])
        await fill(dataset, builder)
        with pytest.raises(SeedConflict):
            await dataset.append(rival.blocks, expected_head=builder.head, force=True)
        assert await dataset.head() == builder.head

    async def test_a_chain_that_breaks_a_rule_is_refused_whole(self, dataset: Dataset) -> None:
        builder = chain(["a"])
        gap = replace(builder.blocks[1].block, sequence_number=5, prev_block_hash=builder.head)
        before = await stored_keys(dataset)
        with pytest.raises(ChainError) as broken:
            await dataset.append([*builder.blocks, encode_block(gap)], expected_head=None)
        assert broken.value.rule
        assert await dataset.head() is None
        assert await stored_keys(dataset) == before

    async def test_blocks_that_are_not_linked_are_refused_even_unvalidated(self, dataset: Dataset) -> None:
        builder = chain(["a", "b"])
        with pytest.raises(ChainError):
            await dataset.append([builder.blocks[0], builder.blocks[2]], expected_head=None, validate=False)
        assert await dataset.head() is None

    async def test_blocks_whose_bytes_are_not_their_hash_are_refused(self, dataset: Dataset) -> None:
        builder = chain(["a"])
        forged = replace(builder.blocks[1], raw=builder.blocks[1].raw + b"\0")
        with pytest.raises(HashMismatch):
            await dataset.append([builder.blocks[0], forged], expected_head=None, validate=False)

    async def test_a_chain_upon_an_unknown_block_is_refused(self, dataset: Dataset) -> None:
        builder = chain(["a", "b"])
        for validate in (True, False):
            with pytest.raises((BlockNotFound, ChainsDiverged)):
                await dataset.append(builder.blocks[2:], expected_head=None, force=True, validate=validate)
        assert await dataset.head() is None

    async def test_nothing_to_append_is_refused(self, dataset: Dataset) -> None:
        with pytest.raises(ChainsDiverged):
            await dataset.append([], expected_head=None)

    async def test_a_missing_object_stops_the_append(self, dataset: Dataset) -> None:
        builder = chain()
        builder.data(b"slice")
        with pytest.raises(ObjectNotFound, match=str(physical_hash(b"slice"))):
            await dataset.append(builder.blocks, expected_head=None)
        assert await dataset.head() is None
        assert await stored_keys(dataset) == set()

    async def test_an_object_of_another_size_stops_the_append(self, dataset: Dataset) -> None:
        builder = chain()
        builder.data(b"slice")
        await objects_in(dataset).put(data_key(physical_hash(b"slice")), b"slic")
        with pytest.raises(SizeMismatch):
            await dataset.append(builder.blocks, expected_head=None)
        assert await dataset.head() is None

    async def test_objects_may_come_later_when_asked_so(self, dataset: Dataset) -> None:
        builder = chain()
        builder.data(b"slice")
        await dataset.append(builder.blocks, expected_head=None, check_objects=False)
        assert await dataset.head() == builder.head

    async def test_missing_objects_are_told_once_each(self, dataset: Dataset) -> None:
        builder = chain()
        files = [file for content in (b"here", b"gone", b"cut") for file in objects_of(builder.data(content))]
        await objects_in(dataset).put(data_key(physical_hash(b"here")), b"here")
        await objects_in(dataset).put(data_key(physical_hash(b"cut")), b"c")
        assert await dataset.missing_objects([*files, *files]) == files[1:]

    async def test_an_append_may_be_repeated_after_it_was_cut_short(self, dataset: Dataset) -> None:
        builder = chain(["a", "b"])
        await objects_in(dataset).put_many({block_key(block.hash): block.raw for block in builder.blocks[:2]})
        await dataset.append(builder.blocks, expected_head=None)
        assert await walked(dataset.walk(builder.head)) == builder.blocks[::-1]

    async def test_other_refs_move_on_their_own(self, dataset: Dataset) -> None:
        builder = chain(["a"])
        await fill(dataset, builder)
        staged = builder.fork(2)
        await dataset.append([staged.info("staged")], expected_head=None, force=True, block_ref="staging")
        assert await dataset.head() == builder.head
        assert await dataset.head("staging") == staged.head

    async def test_a_long_chain_is_walked_in_batches(self, dataset: Dataset) -> None:
        builder = chain([str(number) for number in range(2_500)])
        await dataset.append(builder.blocks, expected_head=None, validate=False)
        sizes = [len(batch) async for batch in dataset.walk(builder.head)]
        assert sum(sizes) == 2_501
        assert max(sizes) <= 1_000

    async def test_large_blocks_make_small_batches(self, dataset: Dataset) -> None:
        builder = chain()
        for number in range(5):
            builder.add(SetInfo(description=str(number) * 6_000_000))
        await fill(dataset, builder)
        assert max([len(batch) async for batch in dataset.walk(builder.head)]) <= 3
