"""Commands on a repository in S3: as on a folder, through the real program and a real server of S3."""

from __future__ import annotations

import asyncio

import pytest

from opendatafabric.dataset_ref import DatasetAlias
from storage.dataset import Dataset
from storage.open import init_repository, open_repository
from storage.s3.location import S3Location
from tests.cli.runner import odf
from tests.storage.chains import dataset_id
from tests.suites.collecting import keys_of, published, replaced, store_all
from tests.suites.dataset import fill, stored_keys

WEATHER = DatasetAlias.from_text("alice/weather")


async def _add_weather(place: S3Location) -> Dataset:
    await init_repository(str(place))
    entry = await (await open_repository(str(place))).create(WEATHER, dataset_id())
    await fill(entry.dataset, published())
    return entry.dataset


@pytest.fixture
def dataset(s3_place: S3Location) -> Dataset:
    """The one dataset of a repository in S3."""
    return asyncio.run(_add_weather(s3_place))


def keys(dataset: Dataset) -> set[str]:
    return {key for key in asyncio.run(stored_keys(dataset)) if not key.startswith("info/")}


def test_gc_says_what_would_go_and_then_frees_it(dataset: Dataset, s3_place: S3Location) -> None:
    asyncio.run(store_all(dataset, replaced()))
    ran = odf("gc", "--dry-run", "--grace", 0, "--repo", s3_place)
    assert (ran.code, ran.stderr) == (0, "")
    assert "alice/weather: would free 1 files, 14 B, in data" in ran.lines
    assert keys(dataset) == keys_of(published()) | keys_of(replaced())
    freed = odf("gc", "--grace", 0, "--json", "--repo", s3_place).json()
    assert freed["datasets"][0]["place"] == dataset_id().multibase  # type: ignore[index]
    assert freed["datasets"][0]["freed"]["blocks"]["count"] == 3  # type: ignore[index]
    assert keys(dataset) == keys_of(published())
