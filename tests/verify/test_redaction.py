"""What those see of a report who may not read all inputs: where a step is wrong, and no value."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opendatafabric.multihash import physical_hash
from tests.verify.reports import BLOCK, DAMAGE, SOUND, WARNING, WRONG, record
from verify.redaction import LEFT_OUT, redacted, without_values
from verify.replayed import StepVerdict
from verify.report import Check, Finding
from verify.report_record import parse_report

SECRET = "Lviv"
MISMATCH = Finding(
    Check.TRANSFORMS,
    "replay-mismatch",
    f"not {SECRET}",
    sequence_number=3,
    block_hash=BLOCK,
    offset=7,
    column="city",
    expected=f"{SECRET}?",
    found=SECRET,
    hint=f"look at {SECRET}",
)
WHOLE = record(MISMATCH, DAMAGE, WARNING, steps=[replace(WRONG, records_found=3), SOUND])
NAME = WHOLE.hash()


def test_no_value_is_left() -> None:
    assert SECRET in WHOLE.to_bytes().decode()
    assert SECRET not in redacted(WHOLE, NAME).to_bytes().decode()


def test_block_code_offset_and_column_stay() -> None:
    block = redacted(WHOLE, NAME).blocks[0]
    finding = block.findings[0]
    assert (block.block_hash, finding.code, finding.offset, finding.column) == (
        str(BLOCK), "replay-mismatch", 7, "city",
    )  # fmt: skip
    assert (finding.hint, finding.severity) == (LEFT_OUT, MISMATCH.severity)
    assert block.step is not None
    assert [(row.offset, row.column, row.expected, row.found) for row in block.step.rows] == [(7, "city", None, None)]
    assert (block.step.verdict, block.step.records_found) == (StepVerdict.MISMATCH, None)


def test_the_verdict_and_what_is_of_the_dataset_itself_stay() -> None:
    public = redacted(WHOLE, NAME)
    assert (public.verdict, public.checks, public.counts) == (WHOLE.verdict, WHOLE.checks, WHOLE.counts)
    assert public.blocks[0].findings[1] == WHOLE.blocks[0].findings[1]
    assert public.blocks[1] == WHOLE.blocks[1]


def test_it_names_the_whole_and_is_a_report_by_itself() -> None:
    public = redacted(WHOLE, NAME)
    assert public.redacted_from == str(NAME)
    assert parse_report(public.to_bytes()) == public
    assert physical_hash(public.to_bytes()) != NAME


def test_a_report_without_values_is_told_as_it_is() -> None:
    sound = record(DAMAGE, WARNING, steps=[SOUND])
    assert redacted(sound, sound.hash()) is sound


@pytest.mark.parametrize("code", [*(f"replay-{each.value}" for each in StepVerdict), "replay-other-version", "new"])
def test_no_message_about_a_step_is_passed_on(code: str) -> None:
    told = without_values(replace(MISMATCH, code=code))
    assert SECRET not in "\n".join(told.as_lines())
    assert told.message


def test_a_finding_about_the_dataset_itself_is_passed_on() -> None:
    assert without_values(DAMAGE) is DAMAGE
