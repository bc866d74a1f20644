"""From findings to the document of a report and back: by block, bounded, and nothing lost that it says."""

from __future__ import annotations

import pytest

from opendatafabric.multihash import physical_hash
from opendatafabric.report_limits import REPORT_BLOCKS_MAX, REPORT_BYTES_MAX, REPORT_FINDINGS_MAX, REPORT_TEXT_CHARS_MAX
from tests.verify.reports import (
    BLOCK,
    BY_ANOTHER,
    DAMAGE,
    HEAD,
    INPUT,
    INPUT_BLOCK,
    OF_NO_BLOCK,
    SOUND,
    WARNING,
    WRONG,
    record,
    report,
)
from verify.replayed import ReplayedStep, StepVerdict
from verify.report import Check, Finding, Severity, Verdict
from verify.report_making import report_of
from verify.report_record import parse_report

MISMATCH = Finding(Check.TRANSFORMS, "replay-mismatch", "records differ", sequence_number=3, block_hash=BLOCK)


def test_findings_stand_with_their_block_and_those_of_none_apart() -> None:
    made = record(DAMAGE, OF_NO_BLOCK, WARNING)
    assert [(block.sequence_number, block.verdict) for block in made.blocks] == [
        (3, Verdict.INVALID),
        (4, Verdict.VALID),
    ]
    assert [finding.code for finding in made.findings] == ["ref-dangling"]
    assert made.verdict is Verdict.INVALID


def test_each_group_of_checks_has_a_verdict_of_its_own() -> None:
    made = record(DAMAGE, WARNING)
    assert {each.check.value: each.verdict.value for each in made.checks} == {
        "refs": "valid",
        "blocks": "valid",
        "chain": "valid",
        "objects": "invalid",
        "records": "valid",
    }


def test_a_repeated_step_stands_with_its_block_and_tells_row_column_and_both_values() -> None:
    made = record(MISMATCH, steps=[WRONG, SOUND])
    wrong, sound = made.blocks
    assert wrong.step is not None
    assert sound.step is not None
    (row,) = wrong.step.rows
    assert (row.offset, row.column, row.expected, row.found) == (7, "city", "Kyiv", "Lviv")
    assert (wrong.verdict, sound.verdict) == (Verdict.INVALID, Verdict.VALID)
    assert made.checks[-1].check is Check.TRANSFORMS


def test_what_is_known_of_an_input_is_told_and_the_block_it_was_read_to() -> None:
    (given,) = record(inputs={INPUT: (Verdict.VALID, BLOCK)}).inputs
    assert (given.block_hash, given.verdict, given.report) == (str(INPUT_BLOCK), Verdict.VALID, str(BLOCK))
    (given,) = record().inputs
    assert (given.verdict, given.report) == (None, None)


def test_times_are_in_utc_and_durations_in_milliseconds() -> None:
    timings = record(steps=[SOUND]).timings
    assert (timings.started_at, timings.ended_at) == ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:07.678Z")
    assert (timings.integrity_ms, timings.replay_ms) == (250, 1500)


@pytest.mark.parametrize("steps", [None, [WRONG, SOUND], [BY_ANOTHER]])
def test_the_document_gives_the_report_back(steps: list[ReplayedStep] | None) -> None:
    findings = [OF_NO_BLOCK, DAMAGE, WARNING]
    made = report_of(parse_report(record(*findings, steps=steps).to_bytes()))
    before = report(*findings, steps=steps)
    assert made.as_dict() == before.as_dict()
    assert (made.as_text(), made.as_junit()) == (before.as_text(), before.as_junit())


def test_the_number_of_a_block_that_cannot_be_read_is_left_out() -> None:
    unknown = Finding(Check.OBJECTS, "object-missing", "gone", sequence_number=-1, block_hash=HEAD)
    assert record(unknown).blocks[0].sequence_number is None


def test_more_findings_than_a_report_holds_are_counted() -> None:
    made = record(*[DAMAGE] * (REPORT_FINDINGS_MAX + 3), omitted=2)
    assert (len(made.blocks[0].findings), made.omitted_findings) == (REPORT_FINDINGS_MAX, 5)


def test_more_blocks_than_a_report_names_are_counted_and_those_with_findings_come_first() -> None:
    steps = [
        ReplayedStep(number, physical_hash(b"%d" % number), StepVerdict.VALID)
        for number in range(10, 10 + REPORT_BLOCKS_MAX)
    ]
    last = Finding(Check.CHAIN, "rule-b1", "wrong", sequence_number=99_999, block_hash=BLOCK)
    made = record(last, steps=steps)
    assert (len(made.blocks), made.omitted_blocks) == (REPORT_BLOCKS_MAX, 1)
    assert made.blocks[-1].block_hash == str(BLOCK)


def test_a_step_whose_findings_are_left_out_is_not_called_valid() -> None:
    made = record(*[OF_NO_BLOCK] * REPORT_FINDINGS_MAX, MISMATCH, steps=[WRONG])
    assert made.blocks[0].verdict is Verdict.ERROR


def test_the_largest_report_of_a_hostile_chain_can_be_read() -> None:
    text = "\U0001f4a5" * (2 * REPORT_TEXT_CHARS_MAX)
    hostile = Finding(Check.CHAIN, "x", text, block_hash=BLOCK, object_key=text, expected=text, found=text, hint=text)
    raw = record(*[hostile] * 10).to_bytes()
    assert len(parse_report(raw).blocks[0].findings[0].message) == REPORT_TEXT_CHARS_MAX
    assert len(raw) / 10 * REPORT_FINDINGS_MAX < 3 * REPORT_BYTES_MAX


def test_text_that_json_cannot_hold_becomes_text_that_it_can() -> None:
    made = record(Finding(Check.BLOCKS, "x", "\ud800", Severity.WARNING))
    assert parse_report(made.to_bytes()).findings[0].message == "?"
