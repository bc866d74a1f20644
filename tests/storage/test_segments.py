"""Segments of chains: which blocks they hold, when they are kept, and that nothing false comes out of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from opendatafabric.layout import block_key
from opendatafabric.metadata.block import HashedBlock
from storage import segments
from storage.dataset import Dataset
from storage.memory import MemoryDerivedStore, MemoryObjectStore, MemoryRefStore
from storage.reading import followed
from storage.segments import Segments
from storage.values import Followed
from tests.storage.chains import ChainBuilder, chain

LENGTHS = (10, 5)


class SegmentedStore(MemoryObjectStore):
    """A store in memory that follows chains by segments and notes which blocks it was asked for."""

    def __init__(self, derived: MemoryDerivedStore) -> None:
        super().__init__()
        self.derived, self.segments = derived, Segments(derived)
        self.asked: list[str] = []

    async def read(self, key: str, **limits: int) -> bytes:
        self.asked.append(key)
        return await super().read(key, **limits)

    async def follow(self, key: str, next_key: object, *, count_max: int) -> Followed:
        return await followed(self.segments.reading(self.read), key, next_key, count_max=count_max)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SEGMENT_LENGTHS", LENGTHS)


@pytest.fixture
def derived() -> MemoryDerivedStore:
    return MemoryDerivedStore(bytes_max=1_000_000)


@pytest.fixture
def builder() -> ChainBuilder:
    """Blocks 0 to 27."""
    return chain([str(number) for number in range(27)])


def names(derived: MemoryDerivedStore) -> set[str]:
    return set(derived._kept)


def name_of(builder: ChainBuilder, newest: int, length: int) -> str:
    return f"{builder.blocks[newest].hash}-{length}"


ALL = [(24, 5), (19, 5), (14, 5), (9, 5), (4, 5), (19, 10), (9, 10)]


async def store_with(builder: ChainBuilder, derived: MemoryDerivedStore) -> SegmentedStore:
    store = SegmentedStore(derived)
    await store.put_many({block_key(block.hash): block.raw for block in builder.blocks})
    return store


async def walked(store: SegmentedStore, builder: ChainBuilder) -> list[HashedBlock]:
    dataset = Dataset(store, MemoryRefStore())
    return [block async for batch in dataset.walk(builder.head) for block in batch]


async def test_a_walk_leaves_every_whole_segment(builder: ChainBuilder, derived: MemoryDerivedStore) -> None:
    store = await store_with(builder, derived)
    assert await walked(store, builder) == builder.blocks[::-1]
    assert names(derived) == {name_of(builder, *each) for each in ALL}


async def test_the_next_walk_asks_for_the_rest_only(builder: ChainBuilder, derived: MemoryDerivedStore) -> None:
    await walked(await store_with(builder, derived), builder)
    another = await store_with(builder, derived)
    assert await walked(another, builder) == builder.blocks[::-1]
    assert another.asked == [block_key(block.hash) for block in builder.blocks[:24:-1]]


async def test_what_is_written_at_once_is_kept_at_once(builder: ChainBuilder, derived: MemoryDerivedStore) -> None:
    await Segments(derived).keep({block_key(block.hash): block.raw for block in builder.blocks})
    assert names(derived) == {name_of(builder, *each) for each in ALL}


async def test_few_blocks_or_some_of_a_segment_are_not_kept(builder: ChainBuilder, derived: MemoryDerivedStore) -> None:
    for some in (builder.blocks[5:9], builder.blocks[6:14], [*builder.blocks[5:7], *builder.blocks[8:10]] * 2):
        await Segments(derived).keep({block_key(block.hash): block.raw for block in some})
    assert names(derived) == set()


async def test_blocks_read_in_another_order_make_no_segment(builder: ChainBuilder, derived: MemoryDerivedStore) -> None:
    store = await store_with(builder, derived)
    await read_in_order(store, builder.blocks)
    assert names(derived) == set()
    await walked(store, builder)
    await read_in_order(await store_with(builder, derived), builder.blocks)


async def read_in_order(store: SegmentedStore, blocks: Sequence[HashedBlock]) -> None:
    dataset = Dataset(store, MemoryRefStore())
    found = [block async for batch in dataset.read_blocks([block.hash for block in blocks]) for block in batch]
    assert found == list(blocks)


async def test_stretches_of_large_blocks_are_not_kept(
    builder: ChainBuilder, derived: MemoryDerivedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "SEGMENT_BYTES_MAX", 500)
    assert await walked(await store_with(builder, derived), builder) == builder.blocks[::-1]
    assert names(derived) == set()


@pytest.mark.parametrize("place", [0, 3, 4, 40, -1])
async def test_a_damaged_segment_only_costs_requests(
    builder: ChainBuilder, derived: MemoryDerivedStore, place: int
) -> None:
    await walked(await store_with(builder, derived), builder)
    for name, kept in list(derived._kept.items()):
        spoiled = bytearray(kept)
        spoiled[place] ^= 1
        await derived.keep(name, bytes(spoiled))
    another = await store_with(builder, derived)
    assert await walked(another, builder) == builder.blocks[::-1]
    assert len(another.asked) > 3


async def test_blocks_that_are_not_what_they_should_be_are_never_kept(
    builder: ChainBuilder, derived: MemoryDerivedStore
) -> None:
    blocks = {block_key(block.hash): block.raw for block in builder.blocks}
    blocks[block_key(builder.blocks[9].hash)] += b"\0"
    await Segments(derived).keep(blocks)
    assert name_of(builder, 9, 5) not in names(derived)
    assert name_of(builder, 9, 10) not in names(derived)
