"""Reports to be kept, printed and compared."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.multihash import physical_hash
from verify.replayed import ReplayedStep, RowDifference, StepVerdict
from verify.report import Check, Counts, Finding, Report, Severity
from verify.report_making import Known, Run, record_of
from verify.report_record import EnvironmentRecord, ReportRecord

DATASET, INPUT = new_dataset_id(bytes(32)), new_dataset_id(bytes([1] * 32))
BLOCK, HEAD, INPUT_BLOCK = (physical_hash(each) for each in (b"block", b"head", b"block of the input"))
BEGUN = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
DAMAGE = Finding(
    Check.OBJECTS, "object-damaged", "other bytes", sequence_number=3, block_hash=BLOCK, object_key="data/f1620aa"
)
OF_NO_BLOCK = Finding(Check.REFS, "ref-dangling", "no such block", object_key="refs/staging")
WARNING = Finding(Check.RECORDS, "watermark-differs", "odd", Severity.WARNING, sequence_number=4, block_hash=HEAD)
ROW = RowDifference(7, "city", "Kyiv", "Lviv")
SOUND = ReplayedStep(4, HEAD, StepVerdict.VALID, records_expected=2, records_found=2)
BY_ANOTHER = replace(SOUND, agreed="spark 3.5.8")
WRONG = ReplayedStep(3, BLOCK, StepVerdict.MISMATCH, rows=(ROW,), records_expected=2, records_found=2)


def report(*findings: Finding, steps: list[ReplayedStep] | None = None, omitted: int = 0) -> Report:
    """Of a derivative."""
    return Report(
        str(DATASET),
        HEAD,
        Counts(5, 2, 900, 60),
        list(findings),
        omitted,
        steps,
        inputs={INPUT: INPUT_BLOCK},
        integrity_s=0.25,
        replay_s=None if steps is None else 1.5,
    )


def record(
    *findings: Finding,
    steps: list[ReplayedStep] | None = None,
    inputs: dict[DatasetId, Known] | None = None,
    later_s: float = 0.0,
    omitted: int = 0,
) -> ReportRecord:
    """The document of such a report."""
    at = BEGUN + timedelta(seconds=later_s)
    facts = EnvironmentRecord(software={"python": "3.13.0"}, platform="Linux x86_64")
    run = Run("alice/large", at, at + timedelta(seconds=2), facts, steps is not None, inputs or {})
    return record_of(report(*findings, steps=steps, omitted=omitted), run)
