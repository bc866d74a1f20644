"""What an ingest commits, when it commits nothing, and that whatever fails leaves the head where it was."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.errors import (
    ChainError,
    MalformedSource,
    NotFound,
    RefConflict,
    StorageFull,
    UnsupportedOperation,
)
from opendatafabric.metadata.events import AddData, SetDataSchema
from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.sources import MergeStrategySnapshot
from pipeline.ingest import set_watermark
from pipeline.worker_place import JobFolders
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore
from tests.pipeline.datasets import blocks_of, cities, csv_source, day, new_dataset, push
from tests.pipeline.local_engine import LocalEngine

SNAPSHOT = MergeStrategySnapshot(("city",))
STATE = SourceState("default", "odf/etag", "1")


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    """Runs jobs that need no Spark."""
    return LocalEngine(tmp_path / "engine")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where files of sources lie."""
    path = tmp_path / "files"
    path.mkdir()
    return path


@pytest.fixture
async def dataset() -> Dataset:
    """Cities by snapshot."""
    return await new_dataset(csv_source(SNAPSHOT))


class TestBlocks:
    async def test_the_first_write_says_the_schema_and_then_the_data(
        self, dataset: Dataset, engine: LocalEngine, folder: Path
    ) -> None:
        outcome = await push(dataset, engine, cities(folder, kyiv=3), on=2)
        blocks = await blocks_of(dataset)
        assert [type(block.event) for block in blocks[-2:]] == [SetDataSchema, AddData]
        assert {str(block.block.system_time) for block in blocks[-2:]} == {"2024-01-02T00:00:00Z"}
        assert outcome.watermark == day(2)

    async def test_a_first_write_without_rows_says_the_schema_alone(
        self, dataset: Dataset, engine: LocalEngine, folder: Path
    ) -> None:
        await push(dataset, engine, cities(folder), on=2)
        assert isinstance((await blocks_of(dataset))[-1].event, SetDataSchema)

    async def test_later_writes_say_data_alone_and_continue_the_offsets(
        self, dataset: Dataset, engine: LocalEngine, folder: Path
    ) -> None:
        await push(dataset, engine, cities(folder, kyiv=3), on=2)
        outcome = await push(dataset, engine, cities(folder, kyiv=4), on=3)
        event = (await blocks_of(dataset))[-1].event
        assert isinstance(event, AddData)
        assert event.new_data is not None
        assert (event.prev_offset, event.new_data.offset_interval.start) == (0, 1)
        assert (outcome.answer.rows.read, outcome.answer.rows.corrected) == (1, 1)

    async def test_nothing_new_makes_no_block(self, dataset: Dataset, engine: LocalEngine, folder: Path) -> None:
        first = await push(dataset, engine, cities(folder, kyiv=3), on=2)
        again = await push(dataset, engine, cities(folder, kyiv=3), on=3)
        assert not again.changed
        assert await dataset.head() == first.new_head

    async def test_another_source_state_makes_a_block_without_data(
        self, dataset: Dataset, engine: LocalEngine, folder: Path
    ) -> None:
        await push(dataset, engine, cities(folder, kyiv=3), on=2)
        await push(dataset, engine, cities(folder, kyiv=3), on=3, state=STATE)
        event = (await blocks_of(dataset))[-1].event
        assert isinstance(event, AddData)
        assert (event.new_data, event.new_source_state, event.new_watermark) == (None, STATE, day(2))

    async def test_a_write_without_state_drops_the_earlier_one(
        self, dataset: Dataset, engine: LocalEngine, folder: Path
    ) -> None:
        await push(dataset, engine, cities(folder, kyiv=3), on=2, state=STATE)
        assert (await push(dataset, engine, cities(folder, kyiv=3), on=3)).changed

    async def test_a_watermark_alone_is_a_block_and_may_not_go_back(
        self, dataset: Dataset, engine: LocalEngine, folder: Path
    ) -> None:
        await push(dataset, engine, cities(folder, kyiv=3), on=2, state=STATE)
        outcome = await set_watermark(dataset, day(9), system_time=day(3))
        assert (outcome.changed, outcome.watermark) == (True, day(9))
        with pytest.raises(ChainError):
            await set_watermark(dataset, day(8), system_time=day(4))


class TestFailures:
    async def test_bad_input_leaves_the_head(self, dataset: Dataset, engine: LocalEngine, folder: Path) -> None:
        head = await dataset.head()
        file = cities(folder, kyiv=3)
        file.write_text("city,population\nkyiv,many\n")
        with pytest.raises(MalformedSource, match="line 2"):
            await push(dataset, engine, file, on=2)
        assert await dataset.head() == head

    async def test_a_clock_that_goes_back_leaves_the_head(
        self, dataset: Dataset, engine: LocalEngine, folder: Path
    ) -> None:
        await push(dataset, engine, cities(folder, kyiv=3), on=3)
        head = await dataset.head()
        with pytest.raises(ChainError):
            await push(dataset, engine, cities(folder, kyiv=4), on=2)
        assert await dataset.head() == head

    async def test_of_two_writes_at_once_one_is_told(self, dataset: Dataset, engine: LocalEngine, folder: Path) -> None:
        slow = Overtaken(engine, dataset, cities(folder, lviv=1))
        with pytest.raises(RefConflict):
            await push(dataset, slow, cities(folder, kyiv=3), on=2)
        events = [block.event for block in await blocks_of(dataset)]
        assert len([event for event in events if isinstance(event, AddData)]) == 1

    @pytest.mark.parametrize("step", ["quarantine", "publish", "put_many"])
    async def test_a_store_that_fails_leaves_the_head(self, step: str, engine: LocalEngine, folder: Path) -> None:
        objects = FailingObjects()
        dataset = await new_dataset(csv_source(), objects=objects)
        head = await dataset.head()
        objects.failing = step
        with pytest.raises(StorageFull):
            await push(dataset, engine, cities(folder, kyiv=3), on=2)
        assert await dataset.head() == head
        objects.failing = ""
        assert (await push(dataset, engine, cities(folder, kyiv=3), on=2)).changed


class TestSources:
    async def test_of_several_sources_one_has_to_be_named(self, engine: LocalEngine, folder: Path) -> None:
        dataset = await new_dataset(csv_source(name="one"), csv_source(name="two"))
        with pytest.raises(NotFound, match="several"):
            await push(dataset, engine, cities(folder, kyiv=3), on=2)
        assert (await push(dataset, engine, cities(folder, kyiv=3), on=2, name="two")).changed

    async def test_a_source_that_is_not_there_is_named(
        self, dataset: Dataset, engine: LocalEngine, folder: Path
    ) -> None:
        with pytest.raises(NotFound, match="'other'"):
            await push(dataset, engine, cities(folder), on=2, name="other")

    async def test_without_any_source_a_format_has_to_be_named(self, engine: LocalEngine, folder: Path) -> None:
        with pytest.raises(UnsupportedOperation, match="names a format"):
            await push(await new_dataset(), engine, cities(folder), on=2)


class Overtaken:
    """An engine that is so slow that another write comes first."""

    def __init__(self, engine: LocalEngine, dataset: Dataset, file: Path) -> None:
        self._engine, self._dataset, self._file = engine, dataset, file

    def folders(self) -> AbstractContextManager[JobFolders]:
        """Those of the engine."""
        return self._engine.folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer, after the other write."""
        answer = await self._engine.run(job, arguments)
        await push(self._dataset, self._engine, self._file, on=2)
        return answer


class FailingObjects(MemoryObjectStore):
    """Says that it is full at one of its calls."""

    failing = ""

    def _fail(self, step: str) -> None:
        if step == self.failing:
            raise StorageFull("no room")

    async def quarantine(self, *args: Any, **options: Any) -> Any:
        self._fail("quarantine")
        return await super().quarantine(*args, **options)

    async def publish(self, *args: Any) -> None:
        self._fail("publish")
        await super().publish(*args)

    async def put_many(self, objects: Mapping[str, bytes]) -> None:
        self._fail("put_many")
        await super().put_many(objects)
