"""Verifying that nobody watches: what it found in a few values."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.errors import DatasetNotFound
from storage.repository import Repository
from tests.pipeline.local_engine import LocalEngine
from tests.source_tree import ROOT
from verify.report import Check, Finding, Report, Severity
from verify.verify_job import VerifyJob, outcome_of

WEATHER, FAHRENHEIT = "us.noaa.seattle-weather", "seattle-weather.fahrenheit"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """The weather of Seattle and what is derived from it."""
    for name in (WEATHER, FAHRENHEIT):
        shutil.copytree(ROOT / "examples" / "datasets" / name, tmp_path / "r" / name)
    return Repository.open(tmp_path / "r")


@pytest.fixture
def job(repository: Repository, tmp_path: Path) -> VerifyJob:
    """With an engine in the process of the test."""
    return VerifyJob(repository, LocalEngine(tmp_path / "engine"))


async def test_a_derivative_that_follows_is_valid(job: VerifyJob, repository: Repository) -> None:
    entry = await repository.find(DatasetAlias.from_text(FAHRENHEIT))
    outcome = await job.run(entry.id)
    assert outcome == {
        "verdict": "valid",
        "head": str(await entry.dataset.head()),
        "blocks": 6,
        "records": 623,
        "steps": 2,
        "findings": 0,
        "finding": None,
    }


async def test_one_that_is_not_valid_is_no_failure_of_the_job(job: VerifyJob, repository: Repository) -> None:
    entry = await repository.find(DatasetAlias.from_text(WEATHER))
    min((entry.folder / "data").iterdir()).write_bytes(b"no slice")
    outcome = await job.run(entry.id)
    assert (outcome["verdict"], outcome["steps"]) == ("invalid", 0)
    assert outcome["finding"].startswith("damage [object-")


async def test_of_inputs_that_a_stranger_may_not_read_nothing_is_said(job: VerifyJob, repository: Repository) -> None:
    entry = await repository.find(DatasetAlias.from_text(FAHRENHEIT))
    outcome = await job.run(entry.id, may_read=nothing)
    assert (outcome["verdict"], "is not here, or not for those" in outcome["finding"]) == ("error", True)


async def nothing(_: DatasetId) -> bool:
    """May be read."""
    return False


async def test_a_dataset_that_is_gone_is_a_failure(job: VerifyJob) -> None:
    with pytest.raises(DatasetNotFound):
        await job.run(new_dataset_id(bytes(32)))


def test_the_finding_that_weighs_most_is_kept() -> None:
    findings = [
        Finding(Check.RECORDS, "odd", "a", Severity.WARNING),
        Finding(Check.TRANSFORMS, "open", "b", Severity.UNCHECKED),
        Finding(Check.TRANSFORMS, "wrong", "c", sequence_number=4),
    ]
    outcome = outcome_of(Report(findings=findings, omitted=2))
    assert (outcome["findings"], outcome["finding"]) == (5, "damage [wrong] block 4: c")
