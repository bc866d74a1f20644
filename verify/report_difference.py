"""What two reports say differently, times and amounts of work aside.

Two runs over the same head should say the same; where they do not, this shows what changed: a disk, an input, an
engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from verify.report_record import FindingRecord, ReportRecord


@dataclass(frozen=True, slots=True)
class Change:
    """``subject`` is ``before`` in one report and ``after`` in the other; ``None`` where it is not there."""

    subject: str
    before: str | None
    after: str | None

    def as_dict(self) -> dict[str, str | None]:
        """Plain JSON values."""
        return {"subject": self.subject, "before": self.before, "after": self.after}

    def __str__(self) -> str:
        if self.before is None:
            return f"+ {self.subject}: {self.after}"
        if self.after is None:
            return f"- {self.subject}: {self.before}"
        return f"~ {self.subject}: {self.before} → {self.after}"


def differences(before: ReportRecord, after: ReportRecord) -> list[Change]:
    """Everything that changed, what matters most first."""
    first, second = _said(before), _said(after)
    changed = (
        Change(subject, first.get(subject), second.get(subject))
        for subject in dict.fromkeys((*first, *second))
        if first.get(subject) != second.get(subject)
    )
    return list(changed)


def _said(record: ReportRecord) -> dict[str, str]:
    """What a report says, by subject."""
    return dict(_sentences(record))


def _sentences(record: ReportRecord) -> Iterator[tuple[str, str]]:
    yield "verdict", record.verdict.value
    yield from _known({"dataset": record.dataset_id, "head": record.head, "since": record.scope.since})
    for check in record.checks:
        yield f"check {check.check.value}", check.verdict.value
    for finding in record.findings:
        yield _of_finding(finding)
    for block in record.blocks:
        place = f"block {'?' if block.sequence_number is None else block.sequence_number} {block.block_hash}"
        if block.step is not None:
            yield f"{place}: step", " by ".join(filter(None, (block.step.verdict.value, block.step.agreed)))
        for finding in block.findings:
            subject, told = _of_finding(finding)
            yield f"{place}: {subject}", told
    yield from _known({"findings left out": str(record.omitted_findings or "") or None})
    for each in record.inputs:
        yield f"input {each.dataset_id}: read up to", each.block_hash
        yield f"input {each.dataset_id}: verdict", "not verified" if each.verdict is None else each.verdict.value
    yield from _environment(record.environment.model_dump(by_alias=True, exclude_none=True))


def _of_finding(finding: FindingRecord) -> tuple[str, str]:
    place = "".join(f" {value}" for value in (finding.object_key, finding.offset, finding.column) if value is not None)
    values = {"expected": finding.expected, "found": finding.found}
    told = "; ".join([finding.message, *(f"{name} {value}" for name, value in _known(values))])
    return f"{finding.severity.value} {finding.code}{place}", told


def _environment(values: Mapping[str, Any], prefix: str = "environment") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _environment(value, f"{prefix}.{name}")
        else:
            yield f"{prefix}.{name}", str(value)


def _known(values: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    return ((name, value) for name, value in values.items() if value is not None)
