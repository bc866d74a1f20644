"""What of a chain counts at a moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import BlockNotFound, RefNotFound
from opendatafabric.layout import block_key
from opendatafabric.metadata.events import SetVocab
from opendatafabric.metadata.sources import MergeStrategyAppend, MergeStrategyLedger, MergeStrategyUpsertStream
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.open import open_dataset
from storage.records.moment import KnownHeads, Moment, known_records
from tests.pipeline.datasets import blocks_of, day, new_dataset
from tests.pipeline.reading.histories import SCHEMA, source, with_past
from tests.source_tree import ROOT


@pytest.mark.parametrize(("as_at", "count"), [(1, 0), (2, 2), (3, 5), (4, 5), (5, 6), (9, 6)])
async def test_only_blocks_not_after_the_system_time_count(tmp_path: Path, as_at: int, count: int) -> None:
    dataset = await with_past(tmp_path, source())
    assert (await known_records(dataset, Moment(as_at=day(as_at)))).count == count


async def test_the_chain_counts_up_to_the_block_that_is_named(tmp_path: Path) -> None:
    dataset = await with_past(tmp_path, source())
    counts = [(await known_records(dataset, Moment(at_block=each.hash))).count for each in await blocks_of(dataset)]
    assert counts == [0, 0, 0, 2, 5, 6]


async def test_both_limits_hold_at_once(tmp_path: Path) -> None:
    dataset = await with_past(tmp_path, source())
    blocks = await blocks_of(dataset)
    known = await known_records(dataset, Moment(blocks[-2].hash, day(2)))
    assert (known.head, known.count) == (blocks[3].hash, 2)


async def test_a_block_of_another_chain_is_refused(tmp_path: Path) -> None:
    dataset = await with_past(tmp_path, source())
    with pytest.raises(BlockNotFound, match="not on the chain"):
        await known_records(dataset, Moment(at_block=physical_hash(b"another")))


async def test_a_dataset_without_a_head_has_no_records() -> None:
    with pytest.raises(RefNotFound):
        await known_records(Dataset(MemoryObjectStore(), MemoryRefStore()))


async def test_before_the_first_record_there_are_the_columns_that_every_slice_has(tmp_path: Path) -> None:
    dataset = await with_past(tmp_path, source())
    known = await known_records(dataset, Moment(as_at=day(1)))
    assert known.schema.names == ["offset", "op", "system_time", "event_time"]
    assert (await known_records(dataset)).schema == SCHEMA


async def test_columns_are_called_what_the_vocabulary_says() -> None:
    dataset = await new_dataset(SetVocab("o", None, None, "happened"))
    assert (await known_records(dataset)).schema.names == ["o", "op", "system_time", "happened"]


@pytest.mark.parametrize(
    ("sources", "key"),
    [
        ([], None),
        ([source()], ("city",)),
        ([source(), source(name="other")], ("city",)),
        ([source(), source(MergeStrategyUpsertStream(("city",)), "other")], ("city",)),
        ([source(), source(MergeStrategyUpsertStream(("population",)), "other")], None),
        ([source(), source(MergeStrategyAppend(), "other")], None),
        ([source(MergeStrategyLedger(("city",)))], None),
    ],
)
async def test_the_key_is_that_of_the_sources_if_all_keep_one_record_for_it(
    sources: list[object], key: tuple[str, ...] | None
) -> None:
    dataset = await new_dataset(*sources)  # type: ignore[arg-type]
    assert (await known_records(dataset)).primary_key == key


@pytest.mark.parametrize("name", ["us.faa.airports", "com.yahoo.stocks.monthly", "seattle-weather.fahrenheit"])
async def test_datasets_of_the_reference_are_known_too(name: str) -> None:
    known = await known_records(open_dataset(str(ROOT / "examples" / "datasets" / name)))
    assert known.count > 0
    assert known.schema.names[:3] == ["offset", "op", "system_time"]
    assert (known.primary_key is not None) == (name == "us.faa.airports")


async def test_what_is_known_of_a_head_is_not_read_again(tmp_path: Path) -> None:
    store = MemoryObjectStore()
    dataset = await with_past(tmp_path, source(), SetVocab("o", None, None, None), past={}, objects=store)
    heads = KnownHeads()
    before = await known_records(dataset, heads=heads)
    for block in await blocks_of(dataset):
        await store.delete(block_key(block.hash))
    assert await known_records(dataset, heads=heads) == before
    assert before.vocabulary.offset_column == "o"


@pytest.mark.parametrize("known_at", range(6))
async def test_what_is_known_of_an_earlier_head_is_continued(tmp_path: Path, known_at: int) -> None:
    dataset = await with_past(tmp_path, source())
    blocks, heads = await blocks_of(dataset), KnownHeads()
    await known_records(dataset, Moment(at_block=blocks[known_at].hash), heads)
    at_blocks = [Moment(at_block=each.hash) for each in blocks]
    for moment in [
        Moment(),
        Moment(as_at=day(2)),
        Moment(as_at=day(3)),
        *at_blocks,
    ]:
        assert await known_records(dataset, moment, heads) == await known_records(dataset, moment)


async def test_heads_asked_for_longest_ago_are_forgotten(tmp_path: Path) -> None:
    dataset = await with_past(tmp_path, source())
    blocks, heads = await blocks_of(dataset), KnownHeads(slices_max=6)
    for block in blocks[3:]:
        await known_records(dataset, Moment(at_block=block.hash), heads)
    assert [heads.get(each.hash) is not None for each in blocks] == [False, False, False, False, False, True]
