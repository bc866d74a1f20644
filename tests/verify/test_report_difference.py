"""Two reports are compared by what they say, not by when they were made."""

from __future__ import annotations

from opendatafabric.multihash import physical_hash
from tests.verify.reports import BLOCK, BY_ANOTHER, DAMAGE, HEAD, INPUT, OF_NO_BLOCK, SOUND, WRONG, record
from verify.report import Verdict
from verify.report_difference import Change, differences


def test_reports_that_differ_in_times_alone_say_the_same() -> None:
    assert differences(record(DAMAGE, steps=[SOUND]), record(DAMAGE, steps=[SOUND], later_s=9)) == []


def test_a_finding_that_came_is_told_with_its_block_and_the_verdict_first() -> None:
    changes = differences(record(), record(DAMAGE))
    assert changes[0] == Change("verdict", "valid", "invalid")
    assert Change(f"block 3 {BLOCK}: damage object-damaged data/f1620aa", None, "other bytes") in changes


def test_a_finding_that_went_is_told_too() -> None:
    changes = differences(record(OF_NO_BLOCK), record())
    assert Change("damage ref-dangling refs/staging", "no such block", None) in changes


def test_a_step_that_ended_otherwise_is_told() -> None:
    again = type(WRONG)(3, BLOCK, SOUND.verdict)
    assert Change(f"block 3 {BLOCK}: step", "mismatch", "valid") in differences(
        record(steps=[WRONG]), record(steps=[again])
    )


def test_another_version_that_agreed_is_told() -> None:
    assert Change(f"block 4 {HEAD}: step", "valid", "valid by spark 3.5.8") in differences(
        record(steps=[SOUND]), record(steps=[BY_ANOTHER])
    )


def test_another_head_and_what_is_known_of_an_input_are_told() -> None:
    after = record(inputs={INPUT: (Verdict.INVALID, None)}).model_copy(update={"head": str(physical_hash(b"new"))})
    assert {change.subject for change in differences(record(), after)} == {"head", f"input {INPUT}: verdict"}


def test_another_environment_is_told_by_the_name_of_what_changed() -> None:
    before = record()
    software = before.environment.model_copy(update={"software": {"python": "3.14.0", "pyarrow": "26"}})
    assert differences(before, before.model_copy(update={"environment": software})) == [
        Change("environment.software.python", "3.13.0", "3.14.0"),
        Change("environment.software.pyarrow", None, "26"),
    ]


def test_a_change_reads_as_a_line() -> None:
    assert [str(Change("x", *each)) for each in (("a", "b"), (None, "b"), ("a", None))] == [
        "~ x: a → b",
        "+ x: b",
        "- x: a",
    ]
