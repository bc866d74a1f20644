"""Reports: the verdict, and the same findings as text, JSON and JUnit XML."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from opendatafabric.multihash import physical_hash
from verify.report import Check, Counts, Finding, Report, Severity, Verdict

DAMAGE = Finding(
    Check.OBJECTS,
    "object-damaged",
    "the object has other bytes than its name says",
    sequence_number=3,
    block_hash=physical_hash(b"block"),
    object_key="data/f1620aa",
    expected="f1620aa",
    found="f1620bb",
    hint="fetch it again",
)
UNCHECKED = Finding(Check.BLOCKS, "block-unreadable", "no answer", Severity.UNCHECKED)
WARNING = Finding(Check.RECORDS, "watermark-differs", "odd", Severity.WARNING)


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        ([], Verdict.VALID),
        ([WARNING], Verdict.VALID),
        ([WARNING, UNCHECKED], Verdict.ERROR),
        ([WARNING, UNCHECKED, DAMAGE], Verdict.INVALID),
    ],
)
def test_the_heaviest_finding_decides(findings: list[Finding], verdict: Verdict) -> None:
    assert Report(findings=findings).verdict is verdict


def test_a_report_with_findings_left_out_is_never_valid() -> None:
    assert Report(omitted=1).verdict is Verdict.INVALID


def test_json_says_everything_that_is_known_and_nothing_else() -> None:
    report = Report("did:odf:fed01", physical_hash(b"head"), Counts(4, 2, 900, 60), [DAMAGE, WARNING])
    plain = json.loads(report.as_json())
    assert plain["verdict"] == "invalid"
    assert plain["counts"] == {"blocks": 4, "objects": 2, "objectBytes": 900, "records": 60, "provedBefore": 0}
    assert plain["findings"][0]["blockHash"] == str(physical_hash(b"block"))
    assert plain["findings"][1] == {
        "check": "records",
        "code": "watermark-differs",
        "severity": "warning",
        "message": "odd",
    }


def test_text_names_the_block_the_object_and_the_verdict() -> None:
    text = Report("did:odf:fed01", None, Counts(4, 2, 900, 60), [DAMAGE], omitted=2).as_text()
    assert text.splitlines() == [
        "damage [object-damaged] block 3: the object has other bytes than its name says",
        "    object: data/f1620aa",
        "    expected: f1620aa",
        "    found: f1620bb",
        "    hint: fetch it again",
        "… and 2 more findings",
        "did:odf:fed01: invalid (4 blocks, 2 objects, 60 records; 1 damage)",
    ]


def test_junit_has_a_case_per_finding_and_one_per_group_without_any() -> None:
    suite = ElementTree.fromstring(Report(findings=[DAMAGE, UNCHECKED, WARNING]).as_junit())
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "5",
        "failures": "1",
        "errors": "1",
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("type") == "object-damaged"
    assert "found: f1620bb" in (failure.text or "")


def test_junit_stays_well_formed_whatever_is_in_a_finding() -> None:
    hostile = Finding(Check.BLOCKS, "x", "\x00\x1b[31m]]><&\ud800", object_key='"\x07', found="\ufffe")
    suite = ElementTree.fromstring(Report("\x01", None, findings=[hostile]).as_junit())
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "\\u0000\\u001b[31m]]><&\\ud800"
