"""A poll that nobody watches: strangers may have less fetched, and what came of it is counted."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import new_dataset_id
from opendatafabric.errors import AccessDenied, DatasetNotFound
from opendatafabric.metadata.events import DatasetKind, SetPollingSource
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.metadata.sources import (
    FetchStep,
    FetchStepFilesGlob,
    FetchStepUrl,
    MergeStrategyAppend,
    ReadStepCsv,
)
from pipeline.fetch import FetchOptions
from pipeline.ingest_request import IngestAnswer, RowCounts
from pipeline.poll_job import PollJob
from pipeline.worker_place import JobFolders, WorkerPlace
from storage.repository import Repository
from tests.pipeline.datasets import day

CITIES = new_dataset_id(bytes(32))


@dataclass
class CountingEngine:
    """Finds so many rows in every file, all of them known already."""

    root: Path
    asked: list[str] = field(default_factory=list)

    def folders(self) -> AbstractContextManager[JobFolders]:
        return WorkerPlace(self.root).job_folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(job)
        return IngestAnswer(RowCounts(read=7)).to_message()


@pytest.fixture
def engines(tmp_path: Path) -> tuple[CountingEngine, CountingEngine]:
    """One for sources of the operator, one for those of strangers."""
    return CountingEngine(tmp_path / "ours"), CountingEngine(tmp_path / "theirs")


async def poll_job(tmp_path: Path, engines: tuple[CountingEngine, CountingEngine], step: FetchStep) -> PollJob:
    """Over a repository with one dataset that has that source."""
    repository = Repository.init(tmp_path / "repository")
    alias = DatasetAlias.from_text("cities")
    source = SetPollingSource(step, None, ReadStepCsv(), None, MergeStrategyAppend())
    blocks = blocks_from_snapshot(
        DatasetSnapshot(alias, DatasetKind.ROOT, (source,)),
        dataset_id=CITIES,
        system_time=day(1),
        resolve_input=lambda _: None,
    )
    await (await repository.create(alias, CITIES)).dataset.append(blocks, expected_head=None)
    return PollJob(repository, *engines, FetchOptions({"PLACE": str(tmp_path)}), lambda: day(2))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cities.csv"
    path.write_text("kyiv,1\n")
    return path


async def test_what_came_of_a_poll_is_counted(
    tmp_path: Path, engines: tuple[CountingEngine, CountingEngine], file: Path
) -> None:
    job = await poll_job(tmp_path, engines, FetchStepUrl("file://${{ env.PLACE }}/cities.csv"))
    outcome = await job.run(CITIES, foreign=False)
    assert outcome == {"blocks": 1, "read": 7, "appended": 0, "retracted": 0, "corrected": 0}
    assert await job.run(CITIES, foreign=False) == {**outcome, "blocks": 0, "read": 0}
    assert (engines[0].asked, engines[1].asked) == (["ingest"], [])


@pytest.mark.parametrize("scheme", ["file", "FILE", "${{ 'file' }}"])
async def test_strangers_do_not_read_files_of_the_machine(
    tmp_path: Path, engines: tuple[CountingEngine, CountingEngine], file: Path, scheme: str
) -> None:
    job = await poll_job(tmp_path, engines, FetchStepUrl(f"{scheme}://{file}"))
    with pytest.raises(AccessDenied):
        await job.run(CITIES, foreign=True)


async def test_strangers_do_not_look_into_folders(
    tmp_path: Path, engines: tuple[CountingEngine, CountingEngine], file: Path
) -> None:
    job = await poll_job(tmp_path, engines, FetchStepFilesGlob(str(tmp_path / "*.csv")))
    with pytest.raises(AccessDenied):
        await job.run(CITIES, foreign=True)


async def test_strangers_do_not_see_the_variables_of_the_operator(
    tmp_path: Path, engines: tuple[CountingEngine, CountingEngine]
) -> None:
    job = await poll_job(tmp_path, engines, FetchStepUrl("http://127.0.0.1:9/${{ env.PLACE }}"))
    with pytest.raises(AccessDenied, match="no value for the template"):
        await job.run(CITIES, foreign=True)


async def test_a_dataset_that_is_gone_is_said_to_be(
    tmp_path: Path, engines: tuple[CountingEngine, CountingEngine]
) -> None:
    job = await poll_job(tmp_path, engines, FetchStepUrl("file:///nowhere"))
    with pytest.raises(DatasetNotFound):
        await job.run(new_dataset_id(b"1" * 32), foreign=False)
