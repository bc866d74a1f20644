"""What a check of a dataset found: findings, and the report over all of them as text, JSON or JUnit XML.

A finding is not an exception: it names what is wrong and the check goes on. Verdicts follow from the severities alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from xml.etree import ElementTree

from opendatafabric.attestation.verdict import Verdict as Verdict  # noqa: PLC0414  with the report it is of
from opendatafabric.did import DatasetId
from opendatafabric.limits import FINDINGS_MAX
from opendatafabric.multihash import Multihash
from verify.replayed import ReplayedStep


class Severity(Enum):
    """How much a finding weighs."""

    DAMAGE = "damage"
    """Something is not what the chain or its own name says."""
    UNCHECKED = "unchecked"
    """Something could not be looked at: nothing is known about it."""
    WARNING = "warning"
    """Odd, but allowed."""


class Check(Enum):
    """The groups of checks; every finding belongs to one."""

    REFS = "refs"
    BLOCKS = "blocks"
    CHAIN = "chain"
    OBJECTS = "objects"
    RECORDS = "records"
    TRANSFORMS = "transforms"


CHECK_SUBJECTS = {
    Check.REFS: "the head is there, well formed and points to a stored block",
    Check.BLOCKS: "every block has the bytes that its name says, and can be read",
    Check.CHAIN: "every block obeys the rules of the chain",
    Check.OBJECTS: "every object is there with the size and the bytes that its block says",
    Check.RECORDS: "every slice holds the records that its block says",
    Check.TRANSFORMS: "every step of the transform gives what its block says",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be. ``code`` is kebab-case and part of the public contract."""

    check: Check
    code: str
    message: str
    severity: Severity = Severity.DAMAGE
    sequence_number: int | None = None
    block_hash: Multihash | None = None
    offset: int | None = None
    """Of the first record that is concerned; ``column`` if it is one column alone."""
    column: str | None = None
    object_key: str | None = None
    """Key of the stored thing that is concerned, as in ``layout.py``."""
    expected: str | None = None
    found: str | None = None
    hint: str | None = None

    def as_dict(self) -> dict[str, str | int]:
        """Plain JSON values; what is not known is left out."""
        named: dict[str, str | int | None] = {
            "check": self.check.value,
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "sequenceNumber": self.sequence_number,
            "blockHash": None if self.block_hash is None else str(self.block_hash),
            "offset": self.offset,
            "column": self.column,
            "objectKey": self.object_key,
            "expected": self.expected,
            "found": self.found,
            "hint": self.hint,
        }
        return {name: value for name, value in named.items() if value is not None}

    def as_lines(self) -> Iterator[str]:
        """For people: a line that says it, and indented ones with the particulars."""
        # What the rules of the chain say names the block already.
        named = self.sequence_number is None or self.check is Check.CHAIN
        place = "" if named else f"block {self.sequence_number}: "
        yield f"{self.severity.value} [{self.code}] {place}{self.message}"
        for name, value in (
            ("offset", self.offset),
            ("column", self.column),
            ("object", self.object_key),
            ("expected", self.expected),
            ("found", self.found),
            ("hint", self.hint),
        ):
            if value is not None:
                yield f"    {name}: {value}"


@dataclass(slots=True)
class Counts:
    """How much was looked at; ``object_bytes`` are those read of slices and checkpoints."""

    blocks: int = 0
    objects: int = 0
    object_bytes: int = 0
    records: int = 0
    proved_before: int = 0
    """Of the objects, those that an earlier run had proved before it was broken off."""

    def as_dict(self) -> dict[str, int]:
        """Plain JSON values."""
        return {
            "blocks": self.blocks,
            "objects": self.objects,
            "objectBytes": self.object_bytes,
            "records": self.records,
            "provedBefore": self.proved_before,
        }


@dataclass(slots=True)
class Report:
    """Everything that one check of one dataset found."""

    dataset_id: str | None = None
    head: Multihash | None = None
    counts: Counts = field(default_factory=Counts)
    findings: list[Finding] = field(default_factory=list)
    omitted: int = 0
    """Findings beyond ``FINDINGS_MAX``: counted, not kept."""
    steps: list[ReplayedStep] | None = None
    """Of a derivative, if its transform was repeated."""
    inputs: dict[DatasetId, Multihash] = field(default_factory=dict)
    """Of a derivative: the last block that was read of each."""
    engines: set[str] = field(default_factory=set)
    """Of a derivative: those that its transforms name."""
    integrity_s: float = 0.0
    replay_s: float | None = None

    def add(self, findings: Iterable[Finding]) -> None:
        """Keep them, as far as there is room."""
        for finding in findings:
            if len(self.findings) < FINDINGS_MAX:
                self.findings.append(finding)
            else:
                self.omitted += 1

    @property
    def verdict(self) -> Verdict:
        """Any damage makes it invalid; else anything unchecked makes it an error."""
        return Verdict.INVALID if self.omitted else verdict_of(self.findings)

    def checks(self) -> list[Check]:
        """The groups of checks that were made."""
        return [check for check in Check if check is not Check.TRANSFORMS or self.steps is not None]

    def as_dict(self) -> dict[str, object]:
        """Plain JSON values."""
        steps = {} if self.steps is None else {"steps": [step.as_dict() for step in self.steps]}
        return {
            "verdict": self.verdict.value,
            "datasetId": self.dataset_id,
            "head": None if self.head is None else str(self.head),
            "counts": self.counts.as_dict(),
            "findings": [finding.as_dict() for finding in self.findings],
            "omittedFindings": self.omitted,
            **steps,
        }

    def as_json(self) -> str:
        """The report as indented JSON text."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)

    def as_text(self) -> str:
        """The report for people, the verdict last."""
        lines = [line for finding in self.findings for line in finding.as_lines()]
        if self.omitted:
            lines.append(f"… and {self.omitted} more findings")
        return "\n".join([*lines, self.summary()])

    def summary(self) -> str:
        """One line: the verdict and what was looked at."""
        counts = self.counts
        looked_at = f"{counts.blocks} blocks, {counts.objects} objects, {counts.records} records"
        if self.steps is not None:
            looked_at += f", {len(self.steps)} steps repeated"
        weights = Counter(finding.severity.value for finding in self.findings)
        found = ", ".join(f"{number} {weight}" for weight, number in weights.items()) or "nothing found"
        return f"{self.dataset_id or 'dataset'}: {self.verdict.value} ({looked_at}; {found})"

    def as_junit(self) -> str:
        """JUnit XML: one case per group of checks that found nothing, one per finding otherwise."""
        cases = list(_cases(self.findings, self.checks()))
        suite = ElementTree.Element(
            "testsuite",
            name=_xml_text(self.dataset_id or "dataset"),
            tests=str(len(cases)),
            failures=str(sum(case.find("failure") is not None for case in cases)),
            errors=str(sum(case.find("error") is not None for case in cases)),
        )
        suite.extend(cases)
        return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def place_of(finding: Finding) -> tuple[int, str, str]:
    """Reports of the same dataset read the same, in whatever order its objects came."""
    number = -1 if finding.sequence_number is None else finding.sequence_number
    return number, finding.object_key or "", finding.code


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """Any damage makes it invalid; else anything unchecked makes it an error."""
    severities = {finding.severity for finding in findings}
    if Severity.DAMAGE in severities:
        return Verdict.INVALID
    return Verdict.ERROR if Severity.UNCHECKED in severities else Verdict.VALID


_JUNIT_ELEMENTS = {Severity.DAMAGE: "failure", Severity.UNCHECKED: "error", Severity.WARNING: "system-out"}


def _cases(findings: Sequence[Finding], checks: Iterable[Check]) -> Iterator[ElementTree.Element]:
    for check in checks:
        mine = [finding for finding in findings if finding.check is check]
        if not mine:
            yield ElementTree.Element("testcase", classname=check.value, name=CHECK_SUBJECTS[check])
        for finding in mine:
            yield _case(finding)


def _case(finding: Finding) -> ElementTree.Element:
    name = _xml_text(finding.object_key or finding.code)
    case = ElementTree.Element("testcase", classname=finding.check.value, name=name)
    element = ElementTree.SubElement(case, _JUNIT_ELEMENTS[finding.severity])
    if finding.severity is not Severity.WARNING:
        element.set("type", finding.code)
        element.set("message", _xml_text(finding.message))
    element.text = _xml_text("\n".join(finding.as_lines()))
    return case


def _xml_text(text: str) -> str:
    """``text`` with what XML cannot hold escaped: damaged bytes may lead anything in here."""
    return "".join(char if char in "\t\n" or (char.isprintable()) else f"\\u{ord(char):04x}" for char in text)
