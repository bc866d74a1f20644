"""What is kept between ingests changes how long the next one takes, never what it adds."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opendatafabric.errors import RefConflict
from opendatafabric.metadata.events import AddData, AddPushSource
from opendatafabric.metadata.sources import (
    MergeStrategy,
    MergeStrategyAppend,
    MergeStrategyLedger,
    MergeStrategySnapshot,
    MergeStrategyUpsertStream,
    ReadStepNdJson,
)
from opendatafabric.multihash import Multihash
from pipeline.worker_place import JobFolders
from storage.dataset import Dataset
from tests.pipeline.datasets import blocks_of, cities, csv_source, new_dataset, push
from tests.pipeline.local_engine import LocalEngine

pytestmark = pytest.mark.slow

LEDGER, SNAPSHOT, UPSERT = (
    kind(("key",)) for kind in (MergeStrategyLedger, MergeStrategySnapshot, MergeStrategyUpsertStream)
)
STRATEGIES = [LEDGER, SNAPSHOT, UPSERT, MergeStrategySnapshot(("key",), ("text",))]
VALUES = st.tuples(st.sampled_from(["null", "1.5", "-0.0"]), st.sampled_from("xy"))
WRITE = st.dictionaries(st.integers(0, 6), VALUES, max_size=5)


Write = dict[int, tuple[str, str]]
Mishap = Callable[[Path, Path], None]
"""Told where projections lie, and where they lay before the write before."""


class Watched:
    """An engine that notes what each job is given, and may spoil what is kept before it is."""

    def __init__(self, root: Path) -> None:
        self.root, self._engine = root, LocalEngine(root / "engine")
        self.given: list[dict[str, int]] = []
        self.given_bytes = 0

    @property
    def projections(self) -> Path:
        return self.root / "engine" / "projections"

    def folders(self) -> AbstractContextManager[JobFolders]:
        return self._engine.folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        files = {kind: [Path(path) for path in arguments[kind]] for kind in ("runs", "slices")}
        self.given.append({kind: len(paths) for kind, paths in files.items()})
        self.given_bytes = sum(path.stat().st_size for paths in files.values() for path in paths)
        return await self._engine.run(job, arguments)


def keep(_: Path, __: Path) -> None:
    """Nothing happens."""


def delete(projections: Path, _: Path) -> None:
    """All is gone."""
    shutil.rmtree(projections)
    projections.mkdir()


def take_earlier(projections: Path, earlier: Path) -> None:
    """A backup was put back."""
    shutil.rmtree(projections)
    shutil.copytree(earlier, projections) if earlier.exists() else projections.mkdir()


def flip(projections: Path, _: Path) -> None:
    """A byte of each file is another one."""
    for path in [path for path in projections.rglob("*") if path.is_file() and path.stat().st_size]:
        data = bytearray(path.read_bytes())
        data[random.Random(len(data)).randrange(len(data))] ^= 64
        path.write_bytes(data)


def cut(projections: Path, _: Path) -> None:
    """Runs end in the middle."""
    for path in [path for path in projections.rglob("*") if path.is_file() and path.name != "state"]:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


MISHAPS: list[Mishap] = [keep, delete, take_earlier, flip, cut]


async def new(strategy: MergeStrategy) -> Dataset:
    read = ReadStepNdJson(schema=("key BIGINT", "value DOUBLE", "text STRING"))
    return await new_dataset(AddPushSource("default", read, None, strategy))


async def written(
    folder: Path,
    strategy: MergeStrategy,
    writes: list[dict[int, tuple[str, str]]],
    mishaps: list[Callable[[Path, Path], None]],
) -> list[Multihash | None]:
    """The logical hashes of what each write adds."""
    engine, dataset = Watched(folder), await new(strategy)
    for number, rows in enumerate(writes):
        file = folder / f"input-{number}"
        file.write_text("".join(f'{{"key": {k}, "value": {v}, "text": "{t}"}}\n' for k, (v, t) in rows.items()))
        mishaps[number](engine.projections, folder / f"before-{number - 1}")
        shutil.copytree(engine.projections, folder / f"before-{number}")
        await push(dataset, engine, file, on=number + 2)
    return await hashes_of(dataset)


async def hashes_of(dataset: Dataset) -> list[Multihash | None]:
    events = [block.event for block in await blocks_of(dataset)]
    return [event.new_data and event.new_data.logical_hash for event in events if isinstance(event, AddData)]


WRITES = [
    {1: ("1.5", "x"), 2: ("null", "x"), 3: ("-0.0", "x")},
    {1: ("1.5", "y"), 2: ("null", "x"), 4: ("1.5", "x")},
    {2: ("-0.0", "y"), 3: ("-0.0", "x")},
    {1: ("1.5", "x"), 2: ("null", "x"), 3: ("-0.0", "x")},
]


@pytest.mark.parametrize("mishap", MISHAPS[1:], ids=lambda mishap: mishap.__name__)
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
async def test_what_becomes_of_the_kept_changes_nothing(
    tmp_path: Path, strategy: MergeStrategy, mishap: Mishap
) -> None:
    expected = await written(tmp_path / "whole", strategy, WRITES, [keep] * 4)
    assert await written(tmp_path / "harmed", strategy, WRITES, [mishap] * 4) == expected


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    writes=st.lists(WRITE, min_size=2, max_size=5), mishaps=st.lists(st.sampled_from(MISHAPS), min_size=5, max_size=5)
)
async def test_whatever_happens_between_any_writes_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, strategy: MergeStrategy, writes: list[Any], mishaps: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("writes")
    expected = await written(folder / "without", strategy, writes, [delete] * 5)
    assert await written(folder / "harmed", strategy, writes, mishaps) == expected


@pytest.fixture
def engine(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where files of sources lie."""
    path = tmp_path / "files"
    path.mkdir()
    return path


CITY = MergeStrategySnapshot(("city",))


class TestGiven:
    @pytest.mark.parametrize("strategy", [CITY, MergeStrategyLedger(("city",)), MergeStrategyUpsertStream(("city",))])
    async def test_a_slice_is_never_given_that_was_made_here(
        self, engine: Watched, folder: Path, strategy: MergeStrategy
    ) -> None:
        dataset = await new_dataset(csv_source(strategy))
        for number in range(12):
            await push(dataset, engine, cities(folder, kyiv=number, **{f"city{number}": 1}), on=number + 2)
        assert [given["slices"] for given in engine.given] == [0] * 12
        assert max(given["runs"] for given in engine.given) <= 6

    @pytest.mark.slow
    async def test_after_a_thousand_ingests_a_job_is_given_a_few_files(self, engine: Watched, folder: Path) -> None:
        dataset, file = await new_dataset(csv_source(MergeStrategyLedger(("city",)))), folder / "input"
        for number in range(1_000):
            file.write_text(f"city,population\ncity {number},1\n")
            await push(dataset, engine, file, on=2)
        assert not (await push(dataset, engine, file, on=2)).changed
        assert engine.given[-1]["slices"] == 0
        assert max(given["runs"] for given in engine.given) <= 15
        assert engine.given_bytes < 100_000

    async def test_only_slices_that_came_from_elsewhere_are_given(self, engine: Watched, folder: Path) -> None:
        dataset = await new_dataset(csv_source(CITY))
        await push(dataset, engine, cities(folder, kyiv=1), on=2)
        other = Watched(folder.parent / "other")
        await push(dataset, other, cities(folder, kyiv=2), on=3)
        await push(dataset, engine, cities(folder, kyiv=3), on=4)
        await push(dataset, engine, cities(folder, kyiv=4), on=5)
        assert [given["slices"] for given in other.given] == [1]
        assert [given["slices"] for given in engine.given] == [0, 1, 0]

    async def test_a_chain_that_was_replaced_is_read_anew(self, engine: Watched, folder: Path) -> None:
        dataset = await new_dataset(csv_source(CITY))
        await push(dataset, engine, cities(folder, kyiv=1), on=2)
        first = await dataset.head()
        await push(dataset, engine, cities(folder, kyiv=2, lviv=1), on=3)
        await dataset.refs.compare_and_swap("head", expected=await dataset.head(), new=first)
        outcome = await push(dataset, engine, cities(folder, kyiv=1, lviv=1), on=4)
        assert (outcome.answer.rows.appended, outcome.answer.rows.corrected) == (1, 0)
        assert engine.given[-1] == {"runs": 0, "slices": 1}

    async def test_a_strategy_that_compares_with_nothing_is_given_nothing(self, engine: Watched, folder: Path) -> None:
        dataset = await new_dataset(csv_source(MergeStrategyAppend()))
        await push(dataset, engine, cities(folder, kyiv=1), on=2)
        await push(dataset, engine, cities(folder, kyiv=1), on=3)
        assert engine.given == [{"runs": 0, "slices": 0}] * 2
        assert list(engine.projections.iterdir()) == []

    async def test_spoiled_runs_are_replaced_by_all_slices_at_once(self, engine: Watched, folder: Path) -> None:
        dataset = await new_dataset(csv_source(CITY))
        await push(dataset, engine, cities(folder, kyiv=1), on=2)
        cut(engine.projections, folder)
        await push(dataset, engine, cities(folder, kyiv=2), on=3)
        await push(dataset, engine, cities(folder, kyiv=3), on=4)
        assert [given["slices"] for given in engine.given] == [0, 0, 1, 0]

    async def test_a_write_that_failed_leaves_nothing_behind(self, engine: Watched, folder: Path) -> None:
        dataset = await new_dataset(csv_source(CITY))
        await push(dataset, engine, cities(folder, kyiv=1), on=2)
        late = Overtaken(engine, dataset, cities(folder, lviv=1))
        with pytest.raises(RefConflict):
            await push(dataset, late, cities(folder, kyiv=3), on=3)
        outcome = await push(dataset, engine, cities(folder, lviv=1), on=4)
        assert not outcome.changed
        assert engine.given[-1]["slices"] == 0


class Overtaken:
    """An engine that is so slow that another write comes first."""

    def __init__(self, engine: Watched, dataset: Dataset, file: Path) -> None:
        self._engine, self._dataset, self._file = engine, dataset, file

    def folders(self) -> AbstractContextManager[JobFolders]:
        return self._engine.folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = await self._engine.run(job, arguments)
        await push(self._dataset, self._engine, self._file, on=3)
        return answer
