"""Verifying that nobody watches: what it found in a few values."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catalog.catalog import open_catalog
from catalog.sqlite_files import sqlite_url
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.errors import DatasetNotFound, StorageError
from opendatafabric.multihash import Multihash
from storage.repository import Repository
from tests.pipeline.local_engine import LocalEngine
from tests.source_tree import ROOT
from verify.recording import Recorded
from verify.report import Check, Finding, Report, Severity, Verdict
from verify.report_record import parse_report
from verify.report_room import ReportRoom, read_report
from verify.verify_job import VerifyJob, outcome_of

WEATHER, FAHRENHEIT = "us.noaa.seattle-weather", "seattle-weather.fahrenheit"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """The weather of Seattle and what is derived from it."""
    for name in (WEATHER, FAHRENHEIT):
        shutil.copytree(ROOT / "examples" / "datasets" / name, tmp_path / "r" / name)
    return Repository.open(tmp_path / "r")


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[ReportRoom]:
    """For one report of each dataset."""
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as catalog:
        yield ReportRoom(catalog.reports, keep_last=1)


@pytest.fixture
def job(repository: Repository, tmp_path: Path, room: ReportRoom) -> VerifyJob:
    """With an engine in the process of the test."""
    return VerifyJob(repository, LocalEngine(tmp_path / "engine"), room, notes_folder=tmp_path / "notes")


async def test_a_derivative_that_follows_is_valid(job: VerifyJob, repository: Repository) -> None:
    entry = await repository.find(DatasetAlias.from_text(FAHRENHEIT))
    outcome = await job.run(entry.id)
    kept = await job.room.listed.last(entry.id)
    assert kept is not None
    assert outcome == {
        "verdict": "valid",
        "report": str(kept.hash),
        "signer": None,
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
    await job.run((await repository.find(DatasetAlias.from_text(WEATHER))).id)
    outcome = await job.run(entry.id, may_read=nothing)
    record = parse_report(await read_report(entry.dataset.objects, Multihash.from_text(outcome["report"])))
    assert record.inputs[0].verdict is None
    (finding,) = record.blocks[0].findings
    assert (outcome["verdict"], "is not here, or not for those" in finding.message) == ("error", True)
    assert "what the step read is not here" in outcome["finding"]


async def nothing(_: DatasetId) -> bool:
    """May be read."""
    return False


async def test_the_report_is_kept_beside_the_dataset(job: VerifyJob, repository: Repository) -> None:
    entry = await repository.find(DatasetAlias.from_text(FAHRENHEIT))
    outcome = await job.run(entry.id)
    raw = await read_report(entry.dataset.objects, Multihash.from_text(outcome["report"]))
    record = parse_report(raw)
    assert (record.alias, record.dataset_id, record.head) == (FAHRENHEIT, str(entry.id), outcome["head"])
    assert [block.step.verdict.value for block in record.blocks if block.step] == ["valid", "valid"]


async def test_the_report_of_a_derivative_names_those_of_its_inputs(job: VerifyJob, repository: Repository) -> None:
    weather, fahrenheit = [await repository.find(DatasetAlias.from_text(name)) for name in (WEATHER, FAHRENHEIT)]
    first = await job.run(weather.id)
    second = await job.run(fahrenheit.id)
    record = parse_report(await read_report(fahrenheit.dataset.objects, Multihash.from_text(second["report"])))
    (given,) = record.inputs
    assert (given.dataset_id, given.verdict, given.report) == (str(weather.id), Verdict.VALID, first["report"])
    assert await weather.dataset.has_block(Multihash.from_text(given.block_hash))


async def test_a_report_that_cannot_be_kept_is_a_failure(job: VerifyJob, repository: Repository) -> None:
    entry = await repository.find(DatasetAlias.from_text(WEATHER))
    (entry.folder / "reports").write_text("in the way")
    with pytest.raises(StorageError):
        await job.run(entry.id)


async def test_a_dataset_that_is_gone_is_a_failure(job: VerifyJob) -> None:
    with pytest.raises(DatasetNotFound):
        await job.run(new_dataset_id(bytes(32)))


def test_the_finding_that_weighs_most_is_kept() -> None:
    findings = [
        Finding(Check.RECORDS, "odd", "a", Severity.WARNING),
        Finding(Check.TRANSFORMS, "open", "b", Severity.UNCHECKED),
        Finding(Check.RECORDS, "wrong", "c", sequence_number=4),
    ]
    outcome = outcome_of(Recorded(Report(findings=findings, omitted=2), None))  # type: ignore[arg-type]
    assert (outcome["findings"], outcome["finding"]) == (5, "damage [wrong] block 4: c")


def test_what_an_engine_says_is_not_told_to_every_reader() -> None:
    said = Finding(Check.TRANSFORMS, "replay-engine-error", "cannot cast 'a secret'", sequence_number=4)
    outcome = outcome_of(Recorded(Report(findings=[said]), None))  # type: ignore[arg-type]
    assert outcome["finding"] == "damage [replay-engine-error] block 4: the engine failed, or refused the query"
