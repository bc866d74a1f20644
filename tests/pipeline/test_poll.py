"""Polling to the end: a block for each answer, none without news, and on behind the last one after a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import MalformedSource, UnsupportedOperation
from opendatafabric.instant import Instant
from opendatafabric.metadata.events import AddData, SetPollingSource
from opendatafabric.metadata.sources import (
    EventTimeSourceFromPath,
    FetchStepFilesGlob,
    MergeStrategyAppend,
    ReadStepCsv,
)
from pipeline.commit import Outcome
from pipeline.fetch import FetchOptions
from pipeline.poll import poll
from storage.dataset import Dataset
from tests.pipeline.datasets import CITIES, blocks_of, csv_source, day, new_dataset, push
from tests.pipeline.local_engine import LocalEngine


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    """Runs jobs that need no Spark."""
    return LocalEngine(tmp_path / "engine")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the source watches."""
    path = tmp_path / "watched"
    path.mkdir()
    return path


@pytest.fixture
async def dataset(folder: Path) -> Dataset:
    """A dataset that takes files by name, each of its day."""
    pattern = EventTimeSourceFromPath(r"(\d+-\d+-\d+)")
    fetch_step = FetchStepFilesGlob(str(folder / "*.csv"), event_time=pattern)
    read_step = ReadStepCsv(schema=CITIES)
    return await new_dataset(SetPollingSource(fetch_step, None, read_step, None, MergeStrategyAppend()))


async def poll_all(dataset: Dataset, engine: LocalEngine, *, uncacheable: bool = False) -> list[Outcome]:
    """All outcomes of one poll, on the 31st."""

    def clock() -> Instant:
        return day(31)

    options = FetchOptions()
    return [each async for each in poll(dataset, engine, clock=clock, options=options, fetch_uncacheable=uncacheable)]


async def test_each_file_is_a_block_with_its_own_time_and_state(
    dataset: Dataset, engine: LocalEngine, folder: Path
) -> None:
    for number in (3, 1, 2):
        (folder / f"2024-01-0{number}.csv").write_text(f"kyiv,{number}\n")
    assert len(await poll_all(dataset, engine)) == 3
    events = [block.event for block in await blocks_of(dataset) if isinstance(block.event, AddData)]
    assert [event.new_watermark for event in events] == [day(1), day(2), day(3)]
    assert [event.new_source_state.value for event in events if event.new_source_state] == [
        "2024-01-01.csv",
        "2024-01-02.csv",
        "2024-01-03.csv",
    ]


async def test_progress_is_told_bytes_of_the_source_and_records_by_what_became_of_them(
    dataset: Dataset, engine: LocalEngine, folder: Path
) -> None:
    (folder / "2024-01-01.csv").write_text("kyiv,1\nlviv,2\n")
    told: list[tuple[str, int, int | None]] = []
    options = FetchOptions(progress=lambda *each: told.append(each))
    assert [each async for each in poll(dataset, engine, clock=lambda: day(31), options=options)]
    assert told == [("bytes", 14, 14)]
    nothing_yet = {"read": 2, "appended": 0, "retracted": 0, "corrected": 0}
    assert engine.told == [{"rows": nothing_yet}, {"rows": {**nothing_yet, "appended": 2}}]


async def test_nothing_new_asks_no_engine_and_makes_no_block(
    dataset: Dataset, engine: LocalEngine, folder: Path
) -> None:
    (folder / "2024-01-01.csv").write_text("kyiv,1\n")
    await poll_all(dataset, engine)
    head, jobs = await dataset.head(), engine.jobs_done
    assert await poll_all(dataset, engine) == []
    assert (await dataset.head(), engine.jobs_done) == (head, jobs)


async def test_after_a_failure_the_next_poll_goes_on_behind_the_last_block(
    dataset: Dataset, engine: LocalEngine, folder: Path
) -> None:
    (folder / "2024-01-01.csv").write_text("kyiv,1\n")
    (folder / "2024-01-02.csv").write_text("kyiv,many\n")
    with pytest.raises(MalformedSource):
        await poll_all(dataset, engine)
    (folder / "2024-01-02.csv").write_text("kyiv,2\n")
    assert [outcome.watermark for outcome in await poll_all(dataset, engine)] == [day(2)]


async def test_of_many_files_the_one_that_is_wrong_is_named(
    dataset: Dataset, engine: LocalEngine, folder: Path
) -> None:
    (folder / "2024-01-01.csv").write_text("kyiv,1\n")
    (folder / "2024-01-02.csv").write_text("lviv,1\nkyiv,many\n")
    with pytest.raises(MalformedSource, match=r"^2024-01-02\.csv: line 2"):
        await poll_all(dataset, engine)


async def test_a_write_without_state_stops_polling_until_it_is_asked_for(
    dataset: Dataset, engine: LocalEngine, folder: Path
) -> None:
    file = folder / "2024-01-01.csv"
    file.write_text("kyiv,1\n")
    await push(dataset, engine, file, on=2)
    assert await poll_all(dataset, engine) == []
    assert len(await poll_all(dataset, engine, uncacheable=True)) == 1


async def test_a_dataset_without_a_polling_source_is_not_polled(engine: LocalEngine) -> None:
    with pytest.raises(UnsupportedOperation, match="no source to poll"):
        await poll_all(await new_dataset(csv_source()), engine)
