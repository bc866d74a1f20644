"""A report in words, for people who never saw one: what was found, in which blocks and records, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from opendatafabric.metadata.slices import OffsetInterval
from verify.report import Check, Severity, Verdict
from verify.report_record import BlockRecord, FindingRecord, ReportRecord

PLACES_MAX: Final = 20
"""As many blocks are told in words."""

_HEAL: Final = (
    "Bring it back from a sound copy: push the dataset again, or “odf fsck --repair --from ADDRESS” on this server."
)
_PUBLISHER: Final = "Ask its publisher: the chain has to be made again from before that block."
_MEANINGS: Final = {
    Check.REFS: ("the head is missing or leads to nothing", _HEAL),
    Check.BLOCKS: ("a block does not have the bytes that its name says", _HEAL),
    Check.CHAIN: ("a block breaks the rules of the chain", _PUBLISHER),
    Check.OBJECTS: ("a file is missing, or does not have the bytes that its block says", _HEAL),
    Check.RECORDS: ("a file does not hold the records that its block says", _PUBLISHER),
    Check.TRANSFORMS: (
        "a step gives other records when it is repeated",
        "Compare the rows below; whoever computed them may have used another engine, or changed the result by hand.",
    ),
}
_SENTENCES: Final = {
    Verdict.VALID: "Everything that was looked at is what its name and its chain say.",
    Verdict.INVALID: "This dataset is not what its chain says: do not rely on it before it is mended.",
    Verdict.ERROR: "No damage was found, but not everything could be checked.",
}
_AGAIN: Final = "Have it verified again once what was missing is there; each finding below says what it lacked."


@dataclass(frozen=True, slots=True)
class DamagedPlace:
    """A block that does not hold, why, which records it holds, and from which of them on that matters."""

    sequence_number: int | None
    block_hash: str
    reasons: tuple[str, ...]
    first_offset: int | None
    records: OffsetInterval | None


@dataclass(frozen=True, slots=True)
class InWords:
    """What is told before all details."""

    sentence: str
    reasons: tuple[str, ...]
    """Of no block."""
    places: tuple[DamagedPlace, ...]
    more: int
    """So many blocks besides."""
    advice: tuple[str, ...]


def blocks_in_words(record: ReportRecord) -> Sequence[BlockRecord]:
    """The blocks that do not hold."""
    return [block for block in record.blocks if block.verdict is not Verdict.VALID]


def in_words(record: ReportRecord, records: Mapping[str, OffsetInterval] | None = None) -> InWords:
    """The whole of a report in a few sentences; ``records`` says which ones a block holds, by its hash."""
    wrong = blocks_in_words(record)
    shown = wrong[:PLACES_MAX]
    found = [*record.findings, *(each for block in wrong for each in _causes(block.findings))]
    return InWords(
        _SENTENCES[record.verdict],
        tuple(_reasons(record.findings)),
        tuple(_place(block, (records or {}).get(block.block_hash)) for block in shown),
        len(wrong) - len(shown) + record.omitted_blocks,
        tuple(_advice(record.verdict, found)),
    )


def _place(block: BlockRecord, records: OffsetInterval | None) -> DamagedPlace:
    offsets = [each.offset for each in block.findings if each.offset is not None]
    offsets += [row.offset for row in (block.step.rows if block.step is not None else ())]
    reasons = tuple(_reasons(_causes(block.findings)))
    return DamagedPlace(block.sequence_number, block.block_hash, reasons, min(offsets, default=None), records)


def _causes(findings: Sequence[FindingRecord]) -> Sequence[FindingRecord]:
    """Without what follows from the rest: a damaged file has other records too."""
    is_damaged = any(each.check is Check.OBJECTS and each.severity is Severity.DAMAGE for each in findings)
    return [each for each in findings if not (is_damaged and each.check is Check.RECORDS)]


def _reasons(findings: Iterable[FindingRecord]) -> Iterator[str]:
    return _once(_reason(each) for each in findings if each.severity is not Severity.WARNING)


def _reason(finding: FindingRecord) -> str:
    is_damage = finding.severity is Severity.DAMAGE
    return _MEANINGS[finding.check][0] if is_damage else f"it could not be checked: {finding.message}"


def _advice(verdict: Verdict, findings: Iterable[FindingRecord]) -> Iterator[str]:
    if verdict is Verdict.ERROR:
        return iter([_AGAIN])
    return _once(_MEANINGS[each.check][1] for each in findings if each.severity is Severity.DAMAGE)


def _once(texts: Iterable[str]) -> Iterator[str]:
    return iter(dict.fromkeys(texts))
