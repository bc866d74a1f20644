"""Stretches of a chain: counted and packed in one walk, kept by what they begin and end at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from opendatafabric.chain.objects import objects_of
from opendatafabric.codec.block_pack import unpack_blocks
from opendatafabric.errors import BlockNotFound, ChainsDiverged, HashMismatch, LimitExceeded
from opendatafabric.layout import block_key
from opendatafabric.limits import DERIVED_IN_MEMORY_BYTES_MAX
from opendatafabric.multihash import Multihash, physical_hash
from storage.dataset import Dataset
from storage.memory import MemoryDerivedStore, MemoryObjectStore, MemoryRefStore
from sync import intervals
from sync.intervals import Packed, find_end, pack_interval, plan_interval, walk_interval
from sync.plan import TransferPlan, plan_transfer
from tests.storage.chains import ChainBuilder
from tests.sync.scenarios.stage import history


@pytest.fixture(autouse=True)
def _keep_every_pack() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(intervals, "PACK_KEPT_BLOCKS_MIN", 1)
        yield


@pytest.fixture
def packs() -> MemoryDerivedStore:
    return MemoryDerivedStore(bytes_max=DERIVED_IN_MEMORY_BYTES_MAX)


class CountingObjects(MemoryObjectStore):
    """Counts how often somebody begins to follow a chain."""

    walks = 0

    async def follow(self, *arguments, **options):  # type: ignore[no-untyped-def]
        self.walks += 1
        return await super().follow(*arguments, **options)


async def stored(builder: ChainBuilder) -> tuple[Dataset, CountingObjects]:
    objects = CountingObjects()
    dataset = Dataset(objects, MemoryRefStore())
    await dataset.append(builder.blocks, expected_head=None, check_objects=False)
    objects.walks = 0
    return dataset, objects


def names_in(pack: bytes | None) -> list[Multihash]:
    assert pack is not None
    return [name for name, _ in unpack_blocks(pack)]


async def test_one_walk_counts_and_packs_what_the_blocks_say() -> None:
    builder = history(slices=3)
    dataset, objects = await stored(builder)
    walked = await walk_interval(dataset, builder.head, None, force=False)
    assert walked.plan == plan_transfer(builder.blocks)
    assert walked.files() == tuple(file for block in builder.blocks for file in objects_of(block))
    assert names_in(walked.packed.pack) == [block.hash for block in builder.blocks]
    assert objects.walks == 1


async def test_an_interval_begins_behind_a_block() -> None:
    builder = history(slices=3)
    dataset, _ = await stored(builder)
    walked = await walk_interval(dataset, builder.head, builder.blocks[2].hash, force=False)
    assert names_in(walked.packed.pack) == [block.hash for block in builder.blocks[3:]]
    assert walked.plan == plan_transfer(builder.blocks[3:])


async def test_an_object_added_twice_is_listed_at_its_oldest_place() -> None:
    builder = history(slices=2)
    builder.data(b"slice 0")
    dataset, _ = await stored(builder)
    walked = await walk_interval(dataset, builder.head, None, force=False)
    assert [file.physical_hash for file in walked.files()] == [physical_hash(b"slice 0"), physical_hash(b"slice 1")]
    assert walked.plan.num_objects == 3


async def test_a_beginning_that_is_not_below_is_refused_unless_forced() -> None:
    builder = history()
    dataset, _ = await stored(builder)
    strange = physical_hash(b"elsewhere")
    with pytest.raises(ChainsDiverged):
        await walk_interval(dataset, builder.head, strange, force=False)
    walked = await walk_interval(dataset, builder.head, strange, force=True)
    assert (walked.plan.num_blocks, walked.begin_after) == (len(builder.blocks), None)


async def test_a_forced_answer_is_never_kept_for_those_who_do_not_force(packs: MemoryDerivedStore) -> None:
    builder = history()
    dataset, _ = await stored(builder)
    strange = physical_hash(b"elsewhere")
    await plan_interval(dataset, strange, None, force=True, packs=packs)
    with pytest.raises(ChainsDiverged):
        await plan_interval(dataset, strange, None, force=False, packs=packs)


async def test_a_damaged_block_is_never_packed() -> None:
    builder = history()
    dataset, objects = await stored(builder)
    objects.objects[block_key(builder.blocks[1].hash)] = builder.blocks[2].raw
    with pytest.raises(HashMismatch, match=str(builder.blocks[1].hash)):
        await walk_interval(dataset, builder.head, None, force=False)


async def test_a_missing_block_is_named() -> None:
    builder = history()
    dataset, objects = await stored(builder)
    del objects.objects[block_key(builder.blocks[1].hash)]
    with pytest.raises(BlockNotFound, match=str(builder.blocks[1].hash)):
        await walk_interval(dataset, builder.head, None, force=False)


async def test_an_end_must_lie_on_the_chain() -> None:
    builder = history()
    dataset, _ = await stored(builder)
    assert await find_end(dataset, None) == builder.head
    assert await find_end(dataset, builder.blocks[1].hash) == builder.blocks[1].hash
    with pytest.raises(BlockNotFound):
        await find_end(dataset, physical_hash(b"elsewhere"))


async def test_the_plan_and_the_pack_take_one_walk(packs: MemoryDerivedStore) -> None:
    builder = history()
    dataset, objects = await stored(builder)
    interval = await plan_interval(dataset, None, None, force=False, packs=packs)
    packed = await pack_interval(dataset, interval, packs=packs)
    assert names_in(packed.pack) == [block.hash for block in builder.blocks]
    assert packed.plan == interval.plan
    assert objects.walks == 1


async def test_the_next_pull_takes_no_walk(packs: MemoryDerivedStore) -> None:
    builder = history()
    dataset, objects = await stored(builder)
    first = await plan_interval(dataset, None, None, force=False, packs=packs)
    assert await plan_interval(dataset, None, None, force=False, packs=packs) == first
    assert objects.walks == 1


async def test_without_what_was_kept_the_pack_is_made_again(packs: MemoryDerivedStore) -> None:
    builder = history()
    dataset, objects = await stored(builder)
    interval = await plan_interval(dataset, builder.blocks[0].hash, None, force=False, packs=packs)
    packed = await pack_interval(dataset, interval, packs=MemoryDerivedStore(bytes_max=0))
    assert names_in(packed.pack) == [block.hash for block in builder.blocks[1:]]
    assert objects.walks == 2


async def test_a_head_that_was_forced_elsewhere_is_answered_with_its_own_blocks(packs: MemoryDerivedStore) -> None:
    builder = history()
    dataset, _ = await stored(builder)
    await plan_interval(dataset, None, None, force=False, packs=packs)
    fork = builder.fork(2)
    fork.info("another way")
    await dataset.append(fork.blocks[2:], expected_head=builder.head, force=True)
    interval = await plan_interval(dataset, None, None, force=False, packs=packs)
    packed = await pack_interval(dataset, interval, packs=packs)
    assert names_in(packed.pack) == [block.hash for block in fork.blocks]


async def test_a_conversation_ends_at_the_head_it_began_with(packs: MemoryDerivedStore) -> None:
    builder = history()
    dataset, _ = await stored(builder)
    interval = await plan_interval(dataset, None, None, force=False, packs=packs)
    head = builder.head
    await dataset.append([builder.info("meanwhile")], expected_head=head)
    assert names_in((await pack_interval(dataset, interval, packs=packs)).pack)[-1] == head


async def test_up_to_date_and_empty_are_nothing(packs: MemoryDerivedStore) -> None:
    builder = history()
    dataset, _ = await stored(builder)
    empty = Dataset(MemoryObjectStore(), MemoryRefStore())
    assert (await plan_interval(dataset, builder.head, None, force=False, packs=packs)).plan == TransferPlan()
    assert (await plan_interval(empty, None, None, force=False, packs=packs)).plan == TransferPlan()


def test_what_is_kept_comes_back() -> None:
    for pack in (b"\x1f\x8b\npack\n", None):
        packed = Packed(TransferPlan(3, 1, 10, 1_000, 2_000), 99, pack)
        assert Packed.from_bytes(packed.to_bytes()) == packed


def test_a_pack_that_no_message_can_carry_is_refused() -> None:
    with pytest.raises(LimitExceeded, match="3 blocks"):
        Packed(TransferPlan(3), 70 * 1024 * 1024, None).batch(base64=True)
    packed = Packed(TransferPlan(3), 30 * 1024 * 1024, b"pack")
    with pytest.raises(LimitExceeded):
        packed.batch(base64=False)
    assert packed.batch(base64=True).payload == b"pack"
