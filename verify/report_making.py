"""From what a run found to the document that is kept of it (findings by block, within limits), and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from opendatafabric.did import DatasetId
from opendatafabric.multihash import Multihash
from opendatafabric.report_limits import REPORT_BLOCKS_MAX, REPORT_FINDINGS_MAX, REPORT_TEXT_CHARS_MAX
from verify.replayed import ReplayedStep, RowDifference, StepVerdict
from verify.report import Check, Counts, Finding, Report, Verdict, place_of, verdict_of
from verify.report_record import (
    REPORT_KIND,
    REPORT_VERSION,
    BlockRecord,
    CheckRecord,
    CountsRecord,
    EnvironmentRecord,
    FindingRecord,
    InputRecord,
    ReportRecord,
    RowRecord,
    ScopeRecord,
    StepRecord,
    TimingsRecord,
)

Known = tuple[Verdict, Multihash | None]
"""What is known of a dataset: the verdict, and the report that says so."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a report does not know itself. ``replay`` when steps were to be repeated; ``inputs`` as far as known."""

    alias: str | None
    started_at: datetime
    ended_at: datetime
    environment: EnvironmentRecord
    replay: bool
    inputs: Mapping[DatasetId, Known]
    since: Multihash | None = None


def record_of(report: Report, run: Run) -> ReportRecord:
    """The document."""
    kept = report.findings[:REPORT_FINDINGS_MAX]
    blocks = _blocks(kept, report.steps or ())
    return ReportRecord(
        kind=REPORT_KIND,
        version=REPORT_VERSION,
        dataset_id=report.dataset_id,
        alias=run.alias,
        head=_text(report.head),
        verdict=report.verdict,
        scope=ScopeRecord(replay=run.replay, since=_text(run.since)),
        counts=CountsRecord(**{name: getattr(report.counts, name) for name in CountsRecord.model_fields}),
        checks=tuple(_checks(report)),
        blocks=tuple(sorted(blocks[:REPORT_BLOCKS_MAX], key=_place)),
        findings=tuple(_finding(each) for each in kept if each.block_hash is None),
        omitted_blocks=max(0, len(blocks) - REPORT_BLOCKS_MAX),
        omitted_findings=report.omitted + len(report.findings) - len(kept),
        inputs=tuple(_input(*each, run.inputs) for each in report.inputs.items()),
        environment=run.environment,
        timings=_timings(report, run),
    )


def report_of(record: ReportRecord) -> Report:
    """What a run found, as far as the document says it."""
    findings = [_found(each, None) for each in record.findings]
    findings += [_found(each, block) for block in record.blocks for each in block.findings]
    replayed = any(each.check is Check.TRANSFORMS for each in record.checks)
    return Report(
        dataset_id=record.dataset_id,
        head=None if record.head is None else Multihash.from_text(record.head),
        counts=Counts(**record.counts.model_dump()),
        findings=sorted(findings, key=place_of),
        omitted=record.omitted_findings,
        steps=[_replayed(block, block.step) for block in record.blocks if block.step] if replayed else None,
    )


def _checks(report: Report) -> Iterable[CheckRecord]:
    for check in report.checks():
        mine = [finding for finding in report.findings if finding.check is check]
        yield CheckRecord(check=check, verdict=verdict_of(mine), findings=len(mine))


def _blocks(findings: Sequence[Finding], steps: Sequence[ReplayedStep]) -> list[BlockRecord]:
    """Those with findings first."""
    found: dict[Multihash, list[Finding]] = {}
    for finding in findings:
        if finding.block_hash is not None:
            found.setdefault(finding.block_hash, []).append(finding)
    repeated = {step.block_hash: step for step in steps}
    sound = [step.block_hash for step in steps if step.block_hash not in found]
    return [_block(each, found.get(each, []), repeated.get(each)) for each in (*found, *sound)]


def _block(block_hash: Multihash, findings: Sequence[Finding], step: ReplayedStep | None) -> BlockRecord:
    numbers = {each.sequence_number for each in findings} | ({step.sequence_number} if step else set())
    number = max((each for each in numbers if each is not None and each >= 0), default=None)
    return BlockRecord(
        block_hash=str(block_hash),
        sequence_number=number,
        verdict=_block_verdict(findings, step),
        findings=tuple(map(_finding, findings)),
        step=None if step is None else _step(step),
    )


def _block_verdict(findings: Sequence[Finding], step: ReplayedStep | None) -> Verdict:
    # The findings of a step may be among those that are left out.
    if not findings and step is not None and step.verdict is not StepVerdict.VALID:
        return Verdict.ERROR
    return verdict_of(findings)


def _finding(finding: Finding) -> FindingRecord:
    return FindingRecord(
        check=finding.check,
        code=finding.code,
        severity=finding.severity,
        message=_clean(finding.message),
        offset=finding.offset,
        column=_clean_or_none(finding.column),
        object_key=_clean_or_none(finding.object_key),
        expected=_clean_or_none(finding.expected),
        found=_clean_or_none(finding.found),
        hint=_clean_or_none(finding.hint),
    )


def _step(step: ReplayedStep) -> StepRecord:
    rows = tuple(
        RowRecord(
            offset=row.offset,
            column=_clean_or_none(row.column),
            expected=_clean_or_none(row.expected),
            found=_clean_or_none(row.found),
        )
        for row in step.rows
    )
    return StepRecord(
        verdict=step.verdict,
        records_expected=step.records_expected,
        records_found=step.records_found,
        agreed=_clean_or_none(step.agreed),
        rows=rows,
    )


def _input(dataset_id: DatasetId, block: Multihash, known: Mapping[DatasetId, Known]) -> InputRecord:
    verdict, report = known.get(dataset_id, (None, None))
    return InputRecord(dataset_id=str(dataset_id), block_hash=str(block), verdict=verdict, report=_text(report))


def _found(finding: FindingRecord, block: BlockRecord | None) -> Finding:
    return Finding(
        **finding.model_dump(),
        sequence_number=None if block is None else block.sequence_number,
        block_hash=None if block is None else Multihash.from_text(block.block_hash),
    )


def _replayed(block: BlockRecord, step: StepRecord) -> ReplayedStep:
    return ReplayedStep(
        block.sequence_number or 0,
        Multihash.from_text(block.block_hash),
        step.verdict,
        rows=tuple(RowDifference(row.offset, row.column, row.expected, row.found) for row in step.rows),
        records_expected=step.records_expected,
        records_found=step.records_found,
        agreed=step.agreed,
    )


def _timings(report: Report, run: Run) -> TimingsRecord:
    return TimingsRecord(
        started_at=_moment(run.started_at),
        ended_at=_moment(run.ended_at),
        integrity_ms=round(report.integrity_s * 1000),
        replay_ms=None if report.replay_s is None else round(report.replay_s * 1000),
    )


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _place(block: BlockRecord) -> tuple[bool, int, str]:
    return block.sequence_number is None, block.sequence_number or 0, block.block_hash


def _text(value: Multihash | None) -> str | None:
    return None if value is None else str(value)


def _clean_or_none(text: str | None) -> str | None:
    return None if text is None else _clean(text)


def _clean(text: str) -> str:
    """As JSON can hold it, and no longer than a report has room for."""
    whole = text.encode("utf-8", "replace").decode()
    return whole if len(whole) <= REPORT_TEXT_CHARS_MAX else whole[: REPORT_TEXT_CHARS_MAX - 1] + "…"
