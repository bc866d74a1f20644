"""What a run found is signed as its report says it, by the key of the node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from catalog.catalog import Catalog, open_catalog
from catalog.sqlite_files import sqlite_url
from opendatafabric.attestation.dsse import read_envelope
from opendatafabric.attestation.keys import PublicKey
from opendatafabric.attestation.statement import verification_in
from opendatafabric.errors import AccessDenied
from opendatafabric.instant import Instant
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from tests.storage.chains import ChainBuilder, dataset_id
from tests.sync.scenarios.stage import fill
from tests.sync.smart_server import memory_dataset
from verify.attestation.node_key import node_key
from verify.attestation.signing import Attester, verification_of
from verify.recording import Recorder
from verify.replayed import ReplayedStep, StepVerdict
from verify.report import Report, Verdict
from verify.report_making import Run, record_of
from verify.report_record import EngineRecord, EnvironmentRecord, ReportRecord
from verify.report_room import ReportRoom

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ENGINE = EngineRecord(engine="spark 4.1", java="21", arrow="22", settings=str(physical_hash(b"conf")), sandboxed=True)
ENVIRONMENT = EnvironmentRecord(software={"pyarrow": "26.0"}, platform="Linux", engine=ENGINE)


def derivative_report() -> ReportRecord:
    """Of a derivative with one step."""
    head, block = physical_hash(b"head"), physical_hash(b"block of the input")
    step = ReplayedStep(3, head, StepVerdict.VALID)
    report = Report(str(dataset_id(1)), head, steps=[step], inputs={dataset_id(2): block}, engines={"spark"})
    return record_of(report, Run("a", NOON, NOON, ENVIRONMENT, True, {}))


def test_what_is_signed_is_what_the_report_says() -> None:
    record = derivative_report()
    said = verification_of(record)
    assert said is not None
    assert said.subject == (dataset_id(1), physical_hash(b"head"))
    assert (said.verdict, said.report, said.replayed) == (Verdict.VALID, record.hash(), True)
    assert said.verified_at == Instant.from_datetime(NOON)
    assert said.inputs == {dataset_id(2): physical_hash(b"block of the input")}
    assert said.environment["java"] == "21"
    assert said.environment["engine-settings"] == str(physical_hash(b"conf"))


def test_what_is_about_no_dataset_or_no_head_is_not_signed() -> None:
    for report in (Report(), Report(str(dataset_id(1))), Report(None, physical_hash(b"head"))):
        assert verification_of(record_of(report, Run(None, NOON, NOON, ENVIRONMENT, False, {}))) is None


@dataclass
class Place:
    """A dataset, a catalog, and a key beside it."""

    dataset: Dataset
    catalog: Catalog
    attester: Attester

    async def verified(self, *, signed: bool = True) -> tuple[str | None, object]:
        room = ReportRoom(self.catalog.reports, 10, self.attester if signed else None)
        recorded = await Recorder(None, room).verified(self.dataset, "weather")
        return recorded.signer, recorded.not_kept


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    chain = ChainBuilder()
    chain.info("for tests")
    dataset = memory_dataset()
    await fill(dataset, chain)
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as catalog:
        attester = Attester(tmp_path / ".attestation-key", catalog.attestation_keys, catalog.attestations)
        yield Place(dataset, catalog, attester)


async def test_what_was_verified_is_signed_and_kept(place: Place) -> None:
    signer, failure = await place.verified()
    (kept,) = await place.catalog.attestations.list(dataset_id(1))
    (report,) = await place.catalog.reports.of(dataset_id(1))
    assert (signer, failure) == (kept.signer, None)
    envelope = read_envelope(kept.envelope)
    assert envelope.is_signed_by(PublicKey.from_did(kept.signer))
    said = verification_in(envelope)
    assert (said.subject, said.report, said.verdict) == ((dataset_id(1), kept.head), report.hash, Verdict.VALID)
    assert kept.head == await place.dataset.head()


async def test_without_a_key_nothing_is_signed(place: Place) -> None:
    assert await place.verified(signed=False) == (None, None)
    assert await place.catalog.attestations.list(dataset_id(1)) == []


async def test_that_it_cannot_be_signed_is_told_and_nothing_is_signed(place: Place) -> None:
    await node_key(place.attester.key_path, place.attester.keys)
    place.attester.key_path.chmod(0o644)
    signer, failure = await place.verified()
    assert signer is None
    assert isinstance(failure, AccessDenied)
    assert await place.catalog.attestations.list(dataset_id(1)) == []
