"""A tree for web servers in a bucket: exported, read back by a plain reader, and taken away again."""

from __future__ import annotations

from opendatafabric.dataset_ref import DatasetAlias
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.open import open_dataset, open_static_tree
from storage.repository import DatasetEntry
from storage.s3.location import S3Location
from sync.static_export import Exported, export_static
from tests.sync.scenarios.stage import assert_holds, fill, history


async def entry(name: str) -> DatasetEntry:
    dataset = Dataset(MemoryObjectStore(), MemoryRefStore())
    await fill(dataset, history())
    return DatasetEntry(history().id, DatasetAlias.from_text(name), dataset, None)


async def export(entries: list[DatasetEntry], location: S3Location) -> list[Exported]:
    return [done async for done in export_static(entries, open_static_tree(str(location)))]


async def test_what_was_exported_is_read_from_where_it_lies(location: S3Location) -> None:
    await export([await entry("alice/weather")], location)
    await assert_holds(open_dataset(f"{location}/alice/weather"), history())


async def test_a_second_time_nothing_moves(location: S3Location) -> None:
    await export([await entry("alice/weather")], location)
    (done,) = await export([await entry("alice/weather")], location)
    assert done.result is not None
    assert done.result.up_to_date


async def test_what_is_not_exported_any_more_is_gone(location: S3Location) -> None:
    await export([await entry("alice/weather")], location)
    assert [each.result for each in await export([], location)] == [None]
    gone = open_dataset(f"{location}/alice/weather")
    assert await gone.head() is None
    assert [info.key async for info in gone.objects.list()] == []
