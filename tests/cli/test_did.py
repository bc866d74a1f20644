"""``odf did parse`` reads every form the reference reads and refuses what it refuses."""

from __future__ import annotations

import pytest

from tests.cli.runner import odf
from tests.vectors.load import vectors

FORMS = {"did_odf": "did:odf", "did_key": "did:key", "did_odf_multibase": "multibase", "account_id": "account"}
CASES = [case for case in vectors("ids.json") if case["type"] in FORMS and not case["input"].startswith("-")]


@pytest.mark.parametrize("kind", FORMS)
def test_identifiers_are_read_and_refused_as_in_the_vectors(kind: str) -> None:
    cases = [case for case in CASES if case["type"] == kind]
    good = [case for case in cases if case["ok"]]
    bad = [case["input"] for case in cases if not case["ok"] and case["input"]]
    read = odf("did", "parse", "--as", FORMS[kind], *(case["input"] for case in good))
    assert read.code == 0
    expected = [case["expected"].get("did_odf") or case["expected"]["canonical"] for case in good]
    assert read.lines == [f"{text}  {case['input']}" for text, case in zip(expected, good, strict=True)]
    refused = odf("did", "parse", "--as", FORMS[kind], *bad)
    assert (refused.code, refused.stdout) == (1, b"")
    assert sum(line.startswith("odf: ") for line in refused.stderr.splitlines()) == len(bad)


def test_json_gives_every_writing_of_the_same_key() -> None:
    case = next(case for case in CASES if case["type"] == "did_key" and case["ok"])
    (found,) = odf("did", "parse", "--json", case["input"]).json_lines()
    assert found["canonical"] == case["expected"]["did_odf"]
    assert found["didKey"] == case["expected"]["did_key"]
    assert f"did:odf:{found['base64url']}" == case["expected"]["did_odf_base64url"]


def test_a_bad_identifier_does_not_keep_the_others_from_being_printed() -> None:
    good = next(case["input"] for case in CASES if case["type"] == "did_odf" and case["ok"])
    ran = odf("did", "parse", "did:odf:x", good, "nothing")
    assert (ran.code, len(ran.lines)) == (1, 1)
    assert "did:odf:x: " in ran.stderr
