"""The index of facts: it follows the head, reads only what is new, and holds when several are at it."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.catalog import Catalog
from catalog.facts_of_blocks import BlockFacts, Facts
from catalog.facts_refresh import refresh_facts
from opendatafabric.errors import BlockNotFound
from opendatafabric.layout import block_key
from opendatafabric.multihash import Multihash, physical_hash
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from tests.storage.chains import ChainBuilder, chain, dataset_id

MINE = dataset_id()
HEAD = physical_hash(b"head")


class Counting(LocalObjectStore):
    """Counts how often blocks are followed."""

    followed = 0

    async def follow(self, *args: object, **named: object) -> None:
        self.followed += 1
        await super().follow(*args, **named)  # type: ignore[arg-type]


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    (tmp_path / "d").mkdir()
    return Dataset(Counting(tmp_path / "d"), LocalRefStore(tmp_path / "d"))


async def put(dataset: Dataset, made: ChainBuilder, expected: Multihash | None = None, *, force: bool = False) -> None:
    """Everything of ``made`` that is not there."""
    known = [each for each in made.blocks if not await dataset.has_block(each.hash)]
    blocks = known or made.blocks[-1:]
    await dataset.append(blocks, expected_head=expected, force=force, check_objects=False)


async def refreshed(catalog: Catalog, dataset: Dataset) -> Facts:
    facts = await refresh_facts(catalog.dataset_facts, MINE, dataset)
    assert facts is not None
    assert await catalog.dataset_facts.of(MINE) == facts
    return facts


async def numbers(catalog: Catalog) -> list[int]:
    found = await catalog.dataset_facts.blocks_before(MINE, 1_000_000, count=1_000)
    return [block.sequence_number for block in found]


async def test_a_dataset_that_nobody_looked_at_is_not_known(catalog: Catalog) -> None:
    assert await catalog.dataset_facts.of(MINE) is None
    assert await catalog.dataset_facts.block(MINE, 0) is None


async def test_without_a_head_there_is_nothing_to_know(catalog: Catalog, dataset: Dataset) -> None:
    assert await refresh_facts(catalog.dataset_facts, MINE, dataset) is None


async def test_the_whole_chain_is_known_after_the_first_look(catalog: Catalog, dataset: Dataset) -> None:
    made = chain(["a", "b"])
    await put(dataset, made)
    facts = await refreshed(catalog, dataset)
    assert (facts.blocks, facts.description, facts.head) == (3, "b", made.head)
    assert await numbers(catalog) == [2, 1, 0]
    found = await catalog.dataset_facts.block(MINE, 1)
    assert found is not None
    assert (found.hash, found.event) == (made.blocks[1].hash, "SetInfo")


async def test_only_what_is_new_is_read(catalog: Catalog, dataset: Dataset) -> None:
    made = chain([str(number) for number in range(40)])
    await put(dataset, made)
    await refreshed(catalog, dataset)
    expected = made.head
    made.info("new")
    await put(dataset, made, expected)
    before = dataset.objects.followed  # type: ignore[attr-defined]
    assert (await refreshed(catalog, dataset)).description == "new"
    assert dataset.objects.followed - before <= 2  # type: ignore[attr-defined]
    assert (await numbers(catalog))[0] == 41


async def test_a_chain_that_was_replaced_is_read_anew(catalog: Catalog, dataset: Dataset) -> None:
    old = chain(["a", "b", "c"])
    await put(dataset, old)
    await refreshed(catalog, dataset)
    new = old.fork(2)
    new.info("other")
    await put(dataset, new, old.head, force=True)
    facts = await refreshed(catalog, dataset)
    assert (facts.blocks, facts.description) == (3, "other")
    assert await numbers(catalog) == [2, 1, 0]


async def test_a_head_that_went_back_is_followed(catalog: Catalog, dataset: Dataset) -> None:
    made = chain(["a", "b"])
    await put(dataset, made)
    await refreshed(catalog, dataset)
    await dataset.refs.compare_and_swap("head", expected=made.head, new=made.blocks[1].hash)
    assert (await refreshed(catalog, dataset)).description == "a"
    assert await numbers(catalog) == [1, 0]


async def test_many_at_once_do_no_harm(catalog: Catalog, dataset: Dataset) -> None:
    made = chain([str(number) for number in range(30)])
    await put(dataset, made)
    index = catalog.dataset_facts
    await asyncio.gather(*(refresh_facts(index, MINE, dataset) for _ in range(8)))
    assert await numbers(catalog) == [*range(30, -1, -1)]


async def test_who_comes_second_changes_nothing(catalog: Catalog, dataset: Dataset) -> None:
    await put(dataset, chain(["a"]))
    facts = await refreshed(catalog, dataset)
    assert not await catalog.dataset_facts.advance(MINE, Facts(facts.head), [], expected_head=None)
    assert await catalog.dataset_facts.of(MINE) == facts


async def test_a_damaged_chain_is_an_error(catalog: Catalog, dataset: Dataset, tmp_path: Path) -> None:
    made = chain(["a", "b"])
    await put(dataset, made)
    (tmp_path / "d" / block_key(made.blocks[1].hash)).unlink()
    with pytest.raises(BlockNotFound):
        await refresh_facts(catalog.dataset_facts, MINE, dataset)
    assert await catalog.dataset_facts.of(MINE) is None


async def test_pages_of_blocks_follow_each_other(catalog: Catalog, dataset: Dataset) -> None:
    await put(dataset, chain([str(number) for number in range(9)]))
    await refreshed(catalog, dataset)
    index = catalog.dataset_facts
    first = await index.blocks_before(MINE, 10, count=4)
    second = await index.blocks_before(MINE, first[-1].sequence_number, count=4)
    assert [block.sequence_number for block in first + second] == [9, 8, 7, 6, 5, 4, 3, 2]
    assert [block.sequence_number for block in await index.blocks_at(MINE, [7, 0, 99])] == [0, 7]


async def test_what_is_forgotten_is_gone_with_its_blocks(catalog: Catalog, dataset: Dataset) -> None:
    await put(dataset, chain(["a"]))
    await refreshed(catalog, dataset)
    await catalog.datasets.forget(MINE)
    assert await catalog.dataset_facts.of(MINE) is None
    assert await numbers(catalog) == []
    assert await catalog.dataset_facts.heads() == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(added=st.lists(st.integers(0, 3), max_size=12), first=st.integers(0, 30), more=st.integers(0, 30))
async def test_the_blocks_of_records_are_found_as_by_counting(
    catalog: Catalog, added: list[int], first: int, more: int
) -> None:
    await catalog.dataset_facts.forget(MINE)
    ends, last = list(itertools.accumulate(added)), first + more
    blocks = [BlockFacts(number, HEAD, 0.0, "AddData", records, 0) for number, records in enumerate(ends)]
    await catalog.dataset_facts.advance(MINE, Facts(head=HEAD), blocks, expected_head=None)
    found = await catalog.dataset_facts.blocks_of_records(MINE, first, last, count=20)
    assert found is not None
    assert [block.sequence_number for block in found] == [
        number
        for number, (end, count) in enumerate(zip(ends, added, strict=True))
        if count and end - count <= last and first < end
    ]


async def test_of_too_many_blocks_none_are_given(catalog: Catalog) -> None:
    blocks = [BlockFacts(number, HEAD, 0.0, "AddData", number + 1, 0) for number in range(10)]
    await catalog.dataset_facts.advance(MINE, Facts(head=HEAD), blocks, expected_head=None)
    assert await catalog.dataset_facts.blocks_of_records(MINE, 2, 6, count=4) is None
    found = await catalog.dataset_facts.blocks_of_records(MINE, 2, 6, count=5)
    assert found == blocks[2:7]
