"""``odf gc``: what it prints, and that it takes nothing it should not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from opendatafabric.dataset_ref import DatasetAlias
from storage.dataset import Dataset
from storage.repository import Repository
from tests.cli.runner import odf
from tests.storage.chains import ChainBuilder, dataset_id
from tests.suites.collecting import keys_of, published, replaced, store_all
from tests.suites.dataset import fill, stored_keys

REPLACED_BYTES = sum(len(block.raw) for block in replaced().blocks[2:]) + len(b"replaced slice")


async def _make(folder: Path) -> Dataset:
    entry = await Repository.init(folder).create(DatasetAlias.from_text("a"), dataset_id())
    await fill(entry.dataset, published())
    await store_all(entry.dataset, replaced())
    return entry.dataset


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return asyncio.run(_make(tmp_path))


def keys(dataset: Dataset) -> set[str]:
    return {key for key in asyncio.run(stored_keys(dataset)) if not key.startswith("info/")}


def test_a_dry_run_says_what_would_go(dataset: Dataset, tmp_path: Path) -> None:
    ran = odf("gc", "--dry-run", "--grace", "0", "--repo", tmp_path)
    assert ran.code == 0
    assert "a: would free 1 files, 14 B, in data" in ran.lines
    assert keys(dataset) == keys_of(published()) | keys_of(replaced())


def test_what_nobody_needs_goes_and_is_counted(dataset: Dataset, tmp_path: Path) -> None:
    ran = odf("gc", "--grace", "0", "--json", "--repo", tmp_path)
    assert ran.code == 0
    found = ran.json()
    assert found["freed_bytes"] == REPLACED_BYTES  # type: ignore[index]
    assert found["datasets"][0]["freed"]["blocks"]["count"] == 3  # type: ignore[index]
    assert keys(dataset) == keys_of(published())


def test_without_more_words_what_is_young_stays(dataset: Dataset, tmp_path: Path) -> None:
    ran = odf("gc", "--repo", tmp_path)
    assert ran.lines[-1] == "freed 0 B in all"
    assert "a: keeps 4 files" in ran.lines[0]


def test_a_damaged_dataset_is_left_alone_and_told(dataset: Dataset, tmp_path: Path) -> None:
    before = keys(dataset)
    head = published().blocks[-1].hash
    next(tmp_path.glob(f"*/blocks/{head}")).write_bytes(b"damaged")
    ran = odf("gc", "--grace", "0", "--repo", tmp_path)
    assert ran.code == 3
    assert "run odf fsck" in ran.stderr
    assert keys(dataset) == before


async def _add_copy(folder: Path) -> None:
    builder = ChainBuilder(dataset_id(2))
    builder.data(b"kept slice")
    entry = await Repository.open(folder).create(DatasetAlias.from_text("b"), dataset_id(2))
    await fill(entry.dataset, builder)


def test_equal_objects_are_stored_once_unless_that_is_not_wanted(dataset: Dataset, tmp_path: Path) -> None:
    asyncio.run(_add_copy(tmp_path))
    assert odf("gc", "--grace", "0", "--no-share", "--json", "--repo", tmp_path).json()["shared"]["count"] == 0  # type: ignore[index]
    counted = odf("gc", "--grace", "0", "--dry-run", "--repo", tmp_path)
    assert counted.lines[-1] == "1 files, 10 B, would be names of equal objects of other datasets"
    shared = odf("gc", "--grace", "0", "--json", "--repo", tmp_path).json()["shared"]  # type: ignore[index]
    assert shared == {"count": 1, "bytes": len(b"kept slice")}
    assert odf("fsck", "--repo", tmp_path).code == 0
