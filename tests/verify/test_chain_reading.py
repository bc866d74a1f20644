"""Finding the blocks of a chain that may be damaged."""

from __future__ import annotations

from dataclasses import replace

from opendatafabric.layout import block_key
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import SetInfo
from opendatafabric.multihash import Multihash, physical_hash
from storage.memory import MemoryObjectStore
from tests.verify.damage import Made
from verify.chain_reading import read_stored, trace_chain


def chain(length: int) -> tuple[Made, list[HashedBlock]]:
    """Oldest first, without the Seed."""
    made = Made.root()
    return made, [made.add(SetInfo(str(number))) for number in range(1, length)]


def damage(made: Made, block: HashedBlock, *, pointer: Multihash | None = None) -> None:
    """Change the bytes of ``block`` in place: somewhere, or exactly where it points."""
    raw = block.raw
    if pointer is None or block.prev_block_hash is None:
        raw = raw.replace(b"\x01", b"\x02", 1)[:-1] + bytes([raw[-1] ^ 1])
    else:
        raw = raw.replace(bytes(block.prev_block_hash), bytes(pointer))
    assert raw != block.raw
    made.objects.objects[block_key(block.hash)] = raw


def unlistable(made: Made) -> MemoryObjectStore:
    store = MemoryObjectStore()
    store.objects = made.objects.objects
    store.capabilities = replace(store.capabilities, listable=False)
    return store


async def test_a_sound_chain_is_followed_to_its_seed() -> None:
    made, blocks = chain(30)
    trace = await trace_chain(made.objects, blocks[-1].hash)
    assert trace.interrupted is None
    assert trace.hashes[:-1] == [block.hash for block in reversed(blocks)]


async def test_behind_a_lost_block_the_one_before_it_is_found_by_its_number() -> None:
    made, blocks = chain(30)
    del made.objects.objects[block_key(blocks[10].hash)]
    trace = await trace_chain(made.objects, blocks[-1].hash)
    assert trace.interrupted is None
    assert trace.hashes[:-1] == [block.hash for block in reversed(blocks)]


async def test_where_nothing_can_be_listed_the_rest_behind_a_lost_block_is_out_of_reach() -> None:
    made, blocks = chain(30)
    del made.objects.objects[block_key(blocks[10].hash)]
    trace = await trace_chain(unlistable(made), blocks[-1].hash)
    assert trace.interrupted is not None
    assert trace.hashes[-1] == blocks[10].hash


async def test_a_damaged_pointer_is_not_followed_when_it_leads_nowhere() -> None:
    made, blocks = chain(30)
    damage(made, blocks[10], pointer=physical_hash(b"nowhere"))
    trace = await trace_chain(made.objects, blocks[-1].hash)
    assert trace.hashes[:-1] == [block.hash for block in reversed(blocks)]


async def test_among_branches_the_pointer_of_a_damaged_block_decides() -> None:
    made, blocks = chain(10)
    fork = Made.root()
    fork.objects.objects = made.objects.objects
    others = [fork.add(SetInfo(f"other {number}")) for number in range(1, 10)]
    damage(made, blocks[6])
    trace = await trace_chain(made.objects, blocks[-1].hash)
    assert trace.interrupted is None
    assert trace.hashes[:-1] == [block.hash for block in reversed(blocks)]
    assert not {block.hash for block in others} & set(trace.hashes)


async def test_damaged_blocks_that_point_at_each_other_do_not_go_round_for_ever() -> None:
    made, blocks = chain(3)
    made.objects.objects[block_key(blocks[0].hash)] = blocks[1].raw
    made.objects.objects[block_key(blocks[1].hash)] = blocks[1].raw.replace(b"2", b"3")
    trace = await trace_chain(unlistable(made), blocks[1].hash)
    assert len(trace.hashes) <= 3


async def test_a_store_without_the_head_has_nothing_to_follow() -> None:
    head = physical_hash(b"head")
    trace = await trace_chain(MemoryObjectStore(), head)
    assert trace.hashes == [head]
    assert trace.interrupted is not None


async def test_a_missing_block_takes_its_place_in_what_is_read() -> None:
    made, blocks = chain(6)
    lost = blocks[2].hash
    del made.objects.objects[block_key(lost)]
    read = [stored async for batch in read_stored(made.objects, [block.hash for block in blocks]) for stored in batch]
    assert [stored.hash for stored in read] == [block.hash for block in blocks]
    assert [stored.hash for stored in read if stored.raw is None] == [lost]


async def test_reading_nothing_asks_for_nothing() -> None:
    assert [batch async for batch in read_stored(MemoryObjectStore(), [])] == []
