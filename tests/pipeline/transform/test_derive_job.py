"""Deriving that nobody watches: what came of it is counted, and queries of strangers go to the walled engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound
from opendatafabric.metadata.events import DatasetKind, MetadataEvent
from opendatafabric.metadata.snapshot import DatasetSnapshot
from pipeline.transform.derive_job import DeriveJob
from storage.repository import Repository
from tests.pipeline.datasets import cities, csv_source, day, push
from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import id_of, query_over

NOTHING = {"blocks": 0, "read": 0, "appended": 0, "retracted": 0, "corrected": 0}


async def add(repository: Repository, name: str, kind: DatasetKind, event: MetadataEvent) -> None:
    """A dataset with that event."""
    alias = DatasetAlias.from_text(name)
    blocks = blocks_from_snapshot(
        DatasetSnapshot(alias, kind, (event,)),
        dataset_id=id_of(name),
        system_time=day(1),
        resolve_input=lambda ref: ref if isinstance(ref, DatasetId) else None,
    )
    await (await repository.create(alias, id_of(name))).dataset.append(blocks, expected_head=None)


async def anything(_: DatasetId) -> bool:
    """May be read."""
    return True


async def nothing(_: DatasetId) -> bool:
    """May not."""
    return False


@pytest.fixture
def engines(tmp_path: Path) -> tuple[LocalEngine, LocalEngine]:
    """One for queries of the operator, one for those of strangers."""
    return LocalEngine(tmp_path / "ours"), LocalEngine(tmp_path / "theirs")


@pytest.fixture
async def job(tmp_path: Path, engines: tuple[LocalEngine, LocalEngine]) -> DeriveJob:
    """Over a repository with cities and the large ones among them."""
    repository = Repository.init(tmp_path / "repository")
    await add(repository, "cities", DatasetKind.ROOT, csv_source())
    large = query_over("select event_time, city from cities where population > 10", "cities")
    await add(repository, "large", DatasetKind.DERIVATIVE, large)
    (tmp_path / "files").mkdir()
    root = (await repository.find(id_of("cities"))).dataset
    await push(root, LocalEngine(tmp_path / "engine"), cities(tmp_path / "files", lviv=5, kyiv=30), on=2)
    return DeriveJob(repository, *engines, lambda: day(3))


async def test_a_step_is_counted_and_nothing_new_counts_nothing(job: DeriveJob) -> None:
    assert await job.run(id_of("large"), may_read=None) == {**NOTHING, "blocks": 1, "read": 2, "appended": 1}
    assert await job.run(id_of("large"), may_read=None) == NOTHING


@pytest.mark.parametrize("foreign", [False, True])
async def test_queries_of_strangers_go_to_their_engine(
    job: DeriveJob, engines: tuple[LocalEngine, LocalEngine], foreign: bool
) -> None:
    await job.run(id_of("large"), may_read=anything if foreign else None)
    assert [engine.jobs_done for engine in engines] == ([0, 1] if foreign else [1, 0])


async def test_an_input_that_a_stranger_may_not_read_is_as_one_that_is_not_here(job: DeriveJob) -> None:
    with pytest.raises(DatasetNotFound, match="is not here, or not for those") as refused:
        await job.run(id_of("large"), may_read=nothing)
    assert str(id_of("cities")) in str(refused.value)
    assert await job.run(id_of("large"), may_read=anything) == {**NOTHING, "blocks": 1, "read": 2, "appended": 1}


async def test_a_dataset_that_is_gone_is_said_to_be(job: DeriveJob) -> None:
    with pytest.raises(DatasetNotFound):
        await job.run(id_of("gone"), may_read=None)
