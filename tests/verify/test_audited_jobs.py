"""Jobs in the audit log: what moved a head is in it, also when the job failed then; what did nothing is not."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from catalog.audit import Audit
from catalog.catalog import Catalog, open_catalog
from catalog.jobs import POLL, PROMOTE, ClaimedJob, JobId
from catalog.sqlite_files import sqlite_url
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import PeerUnavailable, TransientStorageError
from storage.repository import Repository
from tests.catalog.conftest import Clock
from tests.storage.chains import ChainBuilder, dataset_id
from verify.audited_jobs import audited
from verify.promote_job import GateResult
from verify.worker import JobKind

CHAIN = ChainBuilder(dataset_id())
CHAIN.info("polled")


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[Catalog]:
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite"), now=Clock()) as opened:
        yield opened


@pytest.fixture
async def repository(tmp_path: Path) -> Repository:
    made = Repository.init(tmp_path / "repository")
    entry = await made.create(DatasetAlias.from_text("a"), CHAIN.id)
    await entry.dataset.append(CHAIN.blocks[:1], expected_head=None)
    return made


def job(kind: str, repository: Repository, *, moves: bool = False, fails: bool = False, **outcome: Any) -> JobKind:
    async def run(claimed: ClaimedJob) -> Mapping[str, Any]:
        dataset = (await repository.find(claimed.id.dataset_id)).dataset
        if moves:
            await dataset.append(CHAIN.blocks[1:], expected_head=await dataset.head())
        if fails:
            raise PeerUnavailable("the source is away")
        return outcome

    return run


async def done(catalog: Catalog, repository: Repository, kind: str, run: JobKind) -> list[tuple[str, str]]:
    """What is in the log after one run."""
    await catalog.jobs.request(JobId(kind, CHAIN.id))
    claimed = await catalog.jobs.claim_due([kind], "me", lease_s=60)
    assert claimed is not None
    with contextlib.suppress(PeerUnavailable):
        await audited(run, repository, catalog)(claimed)
    return [(entry.action, entry.subject) for entry in await catalog.audit.list()]


@pytest.mark.parametrize("fails", [False, True])
async def test_a_job_that_moved_the_head_is_written_down(catalog: Catalog, repository: Repository, fails: bool) -> None:
    run = job(POLL, repository, moves=True, fails=fails)
    assert await done(catalog, repository, POLL, run) == [(f"job {POLL}", "a")]
    [entry] = await catalog.audit.list()
    assert (entry.details["old_head"], entry.details["new_head"]) == (
        str(CHAIN.blocks[0].hash),
        str(CHAIN.head),
    )


async def test_a_job_that_moved_the_head_is_in_the_reflog_so_that_it_can_be_undone(
    catalog: Catalog, repository: Repository
) -> None:
    await done(catalog, repository, POLL, job(POLL, repository, moves=True))
    [move] = await catalog.datasets.moves(CHAIN.id)
    assert (move.expected_head, move.new_head) == (str(CHAIN.blocks[0].hash), str(CHAIN.head))


@pytest.mark.parametrize("fails", [False, True])
async def test_a_job_that_changed_nothing_is_not(catalog: Catalog, repository: Repository, fails: bool) -> None:
    assert await done(catalog, repository, POLL, job(POLL, repository, fails=fails)) == []
    assert await catalog.datasets.moves(CHAIN.id) == []


async def test_what_a_gate_refused_is_written_down_with_the_finding(catalog: Catalog, repository: Repository) -> None:
    run = job(PROMOTE, repository, result=GateResult.REJECTED.value, finding="it is damaged")
    assert await done(catalog, repository, PROMOTE, run) == [(f"job {PROMOTE}", "a")]
    [entry] = await catalog.audit.list()
    assert (entry.details["result"], entry.details["finding"]) == ("rejected", "it is damaged")


async def test_a_catalog_that_takes_no_entry_fails_no_job(
    catalog: Catalog, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*_: object) -> None:
        raise TransientStorageError("the disk is away")

    monkeypatch.setattr(Audit, "append", failing)
    assert await done(catalog, repository, POLL, job(POLL, repository, moves=True)) == []
