"""Exporting a tree for web servers: what is in it, what moves a second time, what leaves it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import Conflict, HashMismatch, MalformedInput, SizeMismatch, StorageError
from opendatafabric.layout import data_key
from storage.dataset import Dataset
from storage.fsck import fsck
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.repository import DatasetEntry, Repository
from storage.static_tree import INDEX_NAME, LocalStaticTree
from storage.values import WriteMode
from sync.static_export import Exported, export_static
from tests.faults.faulty_stores import Faults, FaultyObjectStore, broken
from tests.storage.chains import ChainBuilder
from tests.sync.scenarios.stage import assert_holds, fill, history


async def entry(name: str, builder: ChainBuilder) -> DatasetEntry:
    dataset = Dataset(MemoryObjectStore(), MemoryRefStore())
    await fill(dataset, builder)
    return DatasetEntry(builder.id, DatasetAlias.from_text(name), dataset, None)


@pytest.fixture
async def weather() -> DatasetEntry:
    return await entry("alice/weather", history())


@pytest.fixture
async def both(weather: DatasetEntry) -> list[DatasetEntry]:
    return [await entry("alice/airports", history(number=2)), weather]


def exported_in(tree: Path, name: str) -> Dataset:
    return Dataset(LocalObjectStore(tree / name), LocalRefStore(tree / name))


async def export(entries: list[DatasetEntry], tree: Path) -> list[Exported]:
    return [done async for done in export_static(entries, LocalStaticTree(tree))]


def times_in(tree: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in tree.glob("alice/weather/*/f1620*")}


def index_of(tree: Path) -> dict[str, str | None]:
    return {each["name"]: each["head"] for each in orjson.loads((tree / INDEX_NAME).read_bytes())["datasets"]}


async def test_every_dataset_lies_under_its_name_and_in_the_index(tmp_path: Path, both: list[DatasetEntry]) -> None:
    done = await export(both, tmp_path)
    assert [str(each.alias) for each in done] == ["alice/airports", "alice/weather"]
    await assert_holds(exported_in(tmp_path, "alice/weather"), history())
    await assert_holds(exported_in(tmp_path, "alice/airports"), history(number=2))
    assert index_of(tmp_path) == {
        "alice/airports": str(history(number=2).head),
        "alice/weather": str(history().head),
    }
    assert [finding async for finding in fsck(Repository.open(tmp_path))] == []


async def test_a_second_time_only_what_is_new_moves(tmp_path: Path, weather: DatasetEntry) -> None:
    await export([weather], tmp_path)
    before = times_in(tmp_path)
    builder = history()
    builder.data(b"new")
    await weather.dataset.writable_objects().put(data_key(next(reversed(builder.slices))), b"new")
    await weather.dataset.append(builder.blocks[-1:], expected_head=history().head)
    (done,) = await export([weather], tmp_path)
    assert done.result is not None
    assert (done.result.plan.num_blocks, done.result.objects_moved) == (1, 1)
    await assert_holds(exported_in(tmp_path, "alice/weather"), builder)
    assert times_in(tmp_path).items() > before.items()


async def test_nothing_moves_when_nothing_is_new(tmp_path: Path, weather: DatasetEntry) -> None:
    await export([weather], tmp_path)
    (done,) = await export([weather], tmp_path)
    assert done.result is not None
    assert done.result.up_to_date


async def test_a_dataset_that_is_not_exported_any_more_is_removed(tmp_path: Path, both: list[DatasetEntry]) -> None:
    await export(both, tmp_path)
    done = await export(both[1:], tmp_path)
    assert [str(each.alias) for each in done if each.result is None] == ["alice/airports"]
    assert not (tmp_path / "alice" / "airports").exists()
    assert list(index_of(tmp_path)) == ["alice/weather"]


async def test_a_dataset_that_was_never_finished_is_removed_too(tmp_path: Path, both: list[DatasetEntry]) -> None:
    faulty = FaultyObjectStore(both[0].dataset.writable_objects(), Faults(1, broken, only=["stream"]))
    stuck = Dataset(faulty, both[0].dataset.refs)
    with pytest.raises(StorageError, match="injected"):
        await export([replace(both[0], dataset=stuck)], tmp_path)
    assert index_of(tmp_path) == {"alice/airports": None}
    assert not (tmp_path / "alice" / "airports" / "refs" / "head").exists()
    await export(both[1:], tmp_path)
    assert not (tmp_path / "alice" / "airports").exists()


async def test_another_dataset_under_an_old_name_replaces_it(tmp_path: Path, weather: DatasetEntry) -> None:
    await export([weather], tmp_path)
    other = await entry("alice/weather", history(number=2))
    assert [each.result is None for each in await export([other], tmp_path)] == [True, False]
    await assert_holds(exported_in(tmp_path, "alice/weather"), history(number=2))


async def test_a_chain_that_was_replaced_is_replaced(tmp_path: Path, weather: DatasetEntry) -> None:
    await export([weather], tmp_path)
    builder = history().fork(2)
    builder.info("another way")
    await weather.dataset.append(builder.blocks[2:], expected_head=history().head, force=True)
    await export([weather], tmp_path)
    assert await exported_in(tmp_path, "alice/weather").head() == builder.head


async def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path, weather: DatasetEntry) -> None:
    Repository.init(tmp_path)
    with pytest.raises(Conflict):
        await export([weather], tmp_path)


async def test_a_damaged_index_is_told(tmp_path: Path, weather: DatasetEntry) -> None:
    for text in ("{", '{"datasets": [{"name": "../x", "id": "", "head": null}]}', "[]"):
        (tmp_path / INDEX_NAME).write_text(text)
        with pytest.raises(MalformedInput):
            await export([weather], tmp_path)


async def test_damage_is_not_exported(tmp_path: Path, weather: DatasetEntry) -> None:
    slice_key = data_key(next(iter(history().slices)))
    await weather.dataset.writable_objects().put(slice_key, b"rotten", WriteMode.REPLACE)
    with pytest.raises((HashMismatch, SizeMismatch)):
        await export([weather], tmp_path)
    assert await exported_in(tmp_path, "alice/weather").head() is None
