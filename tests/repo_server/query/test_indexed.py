"""The newest records and what a chain says last, found by the index as by walking the chain."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.catalog import Catalog, open_catalog
from catalog.facts_of_blocks import Facts
from catalog.facts_refresh import refresh_facts
from catalog.sqlite_files import sqlite_url
from opendatafabric.did import DatasetId
from opendatafabric.metadata.events import Seed, SetInfo, SetVocab
from pipeline.query.request import RecordsWanted
from repo_server.query.indexed import IndexedRecords, newest_wanted
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore
from storage.records.moment import KnownRecords, known_records
from tests.pipeline.datasets import blocks_of
from tests.pipeline.reading.histories import A, source, with_past
from tests.storage.chains import dataset_id

pytestmark = pytest.mark.slow

MINE = dataset_id()
DAYS: Any = {on: [(A, on, "kyiv", on)] * (on % 3) for on in range(2, 30) if on % 3}


class Counting(MemoryObjectStore):
    """Counts the blocks that are read."""

    blocks = 0

    async def read(self, key: str, **named: Any) -> bytes:
        self.blocks += key.startswith("blocks/")
        return await super().read(key, **named)


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[Catalog]:
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as opened:
        yield opened


@pytest.fixture
async def dataset(tmp_path: Path) -> Dataset:
    events = (source(), SetInfo("of cities", ()), SetVocab(None, None, None, "happened"))
    return await with_past(tmp_path, *events, past=DAYS, objects=Counting())


def indexed(catalog: Catalog) -> IndexedRecords:
    async def facts_of(identity: DatasetId, dataset: Dataset) -> Facts | None:
        return await refresh_facts(catalog.dataset_facts, identity, dataset)

    return IndexedRecords(catalog.dataset_facts, facts_of)


def told(known: KnownRecords) -> tuple[Any, ...]:
    return known.head, known.vocabulary, known.schema, known.newest.get(SetInfo)


@pytest.mark.parametrize(
    ("skip", "limit"), [(0, 1), (0, 2), (0, 5), (3, 4), (0, 100), (27, 1), (26, 5), (28, 1), (5, 0)]
)
async def test_the_slices_of_the_newest_records_are_those_of_the_chain(
    catalog: Catalog, dataset: Dataset, skip: int, limit: int
) -> None:
    found = await indexed(catalog).newest(MINE, dataset, skip=skip, limit=limit)
    walked = await known_records(dataset)
    assert found is not None
    known, wanted = found
    intervals = [each.offset_interval for each in walked.slices]
    holding = [each.start <= wanted.last and wanted.first <= each.end for each in intervals]
    assert wanted == newest_wanted(walked.count, skip, limit)
    assert list(known.slices) == [each for each, holds in zip(walked.slices, holding, strict=True) if holds]
    assert told(known) == told(walked)


async def test_few_blocks_are_read(catalog: Catalog, dataset: Dataset) -> None:
    looks, objects = indexed(catalog), dataset.objects
    assert isinstance(objects, Counting)
    await looks.newest(MINE, dataset, skip=0, limit=1)
    before = objects.blocks
    await looks.newest(MINE, dataset, skip=0, limit=1)
    assert objects.blocks - before == 4


async def test_what_a_chain_says_last_is_what_it_says_when_it_is_walked(catalog: Catalog, dataset: Dataset) -> None:
    found, walked = await indexed(catalog).said(MINE, dataset), await known_records(dataset)
    assert found is not None
    assert told(found) == told(walked)
    assert found.newest[Seed] == walked.newest[Seed]


async def test_an_index_that_is_behind_or_does_not_understand_the_chain_says_nothing(
    catalog: Catalog, dataset: Dataset
) -> None:
    facts = await refresh_facts(catalog.dataset_facts, MINE, dataset)
    assert facts is not None
    earlier = (await blocks_of(dataset))[-2].hash
    doubtful = [
        None,
        replace(facts, head=earlier),
        replace(facts, form=facts.form - 1),
        replace(facts, events={**facts.events, "UnknownEvent": str(earlier)}),
        replace(facts, records=facts.records + 1),
    ]

    async def facts_of(_: DatasetId, __: Dataset) -> Facts | None:
        return doubtful[0]

    looks = IndexedRecords(catalog.dataset_facts, facts_of)
    while doubtful:
        assert await looks.newest(MINE, dataset, skip=0, limit=1) is None
        doubtful.pop(0)


@pytest.mark.parametrize(
    ("skip", "limit", "wanted"), [(0, 3, (7, 9)), (8, 3, (0, 1)), (10, 1, (0, -1)), (0, 0, (10, 9)), (99, 9, (0, -90))]
)
def test_the_newest_are_those_with_the_highest_offsets(skip: int, limit: int, wanted: tuple[int, int]) -> None:
    assert newest_wanted(10, skip, limit) == RecordsWanted(*wanted)
