"""Preprocess queries of engines elsewhere: what is ingested is the same as with an engine of ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.errors import InvalidQuery, ProtocolViolation, UnsupportedOperation
from opendatafabric.metadata.engine_messages import RawQueryRequest, RawQueryResponseSuccess
from opendatafabric.metadata.events import AddData, AddPushSource
from opendatafabric.metadata.sources import MergeStrategy, MergeStrategyAppend, MergeStrategySnapshot
from opendatafabric.metadata.transform import SqlQueryStep, TransformSql
from pipeline.engine_contract.elsewhere import EngineAddress, EnginesElsewhere
from pipeline.engine_contract.preprocessing import PreprocessElsewhere
from pipeline.engine_contract.served import ServedEngine
from pipeline.engine_contract.server import serving
from storage.dataset import Dataset
from tests.pipeline.datasets import blocks_of, cities, csv_source, new_dataset, push
from tests.pipeline.local_engine import LocalEngine

LARGE = "select city, population * 2 as population from input where population > 10"
MERGES = [MergeStrategyAppend(), MergeStrategySnapshot(("city",))]


class RenamingEngine(ServedEngine):
    """Our engine under another name."""

    async def raw_query(self, request: RawQueryRequest) -> RawQueryResponseSuccess:
        return await super().raw_query(replace(request, transform=replace(request.transform, engine="datafusion")))


class LyingEngine(ServedEngine):
    """Says that there are records, and leaves none."""

    async def raw_query(self, request: RawQueryRequest) -> RawQueryResponseSuccess:
        return RawQueryResponseSuccess(3)


def source(query: str, merge: MergeStrategy, engine: str = "Elsewhere") -> AddPushSource:
    """Cities, through a query."""
    return replace(csv_source(merge), preprocess=TransformSql(engine, queries=(SqlQueryStep(query=query),)))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[PreprocessElsewhere]:
    """With an engine that calls itself ``elsewhere``."""
    local = LocalEngine(tmp_path / "engine")
    async with serving(RenamingEngine(local, tmp_path / "engine"), host="127.0.0.1", port=0) as port:
        yield PreprocessElsewhere(local, EnginesElsewhere({"elsewhere": EngineAddress(f"127.0.0.1:{port}")}))


async def data_of(dataset: Dataset) -> list[Any]:
    """What the blocks say of their records."""
    events = [block.event for block in await blocks_of(dataset)]
    return [replace(event.new_data, physical_hash=event.new_data.logical_hash, size=0)
            for event in events if isinstance(event, AddData) and event.new_data is not None]  # fmt: skip


@pytest.mark.parametrize("merge", MERGES, ids=["append", "snapshot"])
async def test_records_are_the_same_as_by_an_engine_of_ours(
    engine: PreprocessElsewhere, files: Path, merge: MergeStrategy
) -> None:
    theirs = await new_dataset(source(LARGE, merge))
    ours = await new_dataset(source(LARGE, merge, "datafusion"))
    for on, populations in ((2, {"lviv": 5, "kyiv": 30, "odesa": 20}), (3, {"kyiv": 31, "lviv": 6})):
        file = cities(files, **populations)
        both = [await push(dataset, engine, file, on=on) for dataset in (theirs, ours)]
        assert both[0].answer.rows == both[1].answer.rows
    assert await data_of(theirs) == await data_of(ours) != []


@pytest.mark.parametrize("merge", MERGES, ids=["append", "snapshot"])
async def test_a_query_that_gives_nothing_at_first_leaves_nothing(
    engine: PreprocessElsewhere, files: Path, merge: MergeStrategy
) -> None:
    dataset = await new_dataset(source(LARGE, merge))
    outcome = await push(dataset, engine, cities(files, lviv=5), on=2)
    assert (outcome.changed, outcome.answer.rows.read, outcome.answer.rows.appended) == (False, 1, 0)


async def test_a_snapshot_without_any_record_retracts_them_all(engine: PreprocessElsewhere, files: Path) -> None:
    dataset = await new_dataset(source(LARGE, MergeStrategySnapshot(("city",))))
    await push(dataset, engine, cities(files, kyiv=30, odesa=20), on=2)
    outcome = await push(dataset, engine, cities(files, lviv=5), on=3)
    assert (outcome.answer.rows.read, outcome.answer.rows.retracted) == (1, 2)


async def test_a_query_that_does_not_hold_is_told_and_nothing_is_added(
    engine: PreprocessElsewhere, files: Path
) -> None:
    dataset = await new_dataset(source("select nothing from input", MergeStrategyAppend()))
    head = await dataset.head()
    with pytest.raises(InvalidQuery, match="nothing"):
        await push(dataset, engine, cities(files, lviv=5), on=2)
    assert await dataset.head() == head


async def test_what_the_engine_says_and_leaves_has_to_agree(
    engine: PreprocessElsewhere, files: Path, tmp_path: Path
) -> None:
    dataset = await new_dataset(source(LARGE, MergeStrategyAppend()))
    async with serving(LyingEngine(engine.engine, tmp_path), host="127.0.0.1", port=0) as port:
        lying = replace(engine, elsewhere=EnginesElsewhere({"elsewhere": EngineAddress(f"127.0.0.1:{port}")}))
        with pytest.raises(ProtocolViolation, match="another file than it says"):
            await push(dataset, lying, cities(files, kyiv=30), on=2)


async def test_an_engine_that_is_nowhere_is_refused(engine: PreprocessElsewhere, files: Path) -> None:
    dataset = await new_dataset(source(LARGE, MergeStrategyAppend(), "flink"))
    with pytest.raises(UnsupportedOperation, match="flink"):
        await push(dataset, engine, cities(files, kyiv=30), on=2)


async def test_a_file_in_which_nothing_is_has_nothing_new(engine: PreprocessElsewhere, files: Path) -> None:
    plain = source(LARGE, MergeStrategyAppend())
    dataset = await new_dataset(replace(plain, read=replace(plain.read, schema=None)))
    (files / "empty.csv").write_text("")
    assert not (await push(dataset, engine, files / "empty.csv", on=2)).changed
