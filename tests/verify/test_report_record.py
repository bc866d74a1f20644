"""The document of a report: canonical bytes, one hash, a published schema, and nothing else is taken for one."""

from __future__ import annotations

import json
from contextlib import suppress

import jsonschema
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import MalformedInput, UnsupportedVersion
from opendatafabric.multihash import physical_hash
from tests.source_tree import ROOT
from tests.verify.reports import BLOCK, DAMAGE, INPUT, OF_NO_BLOCK, SOUND, WARNING, WRONG, record
from verify.report import Verdict
from verify.report_record import SCHEMA_NAME, ReportRecord, parse_report, report_schema

RECORDS = [
    record(),
    record(DAMAGE, OF_NO_BLOCK, WARNING),
    record(DAMAGE, steps=[WRONG, SOUND], inputs={INPUT: (Verdict.ERROR, BLOCK)}),
]
PUBLISHED = ROOT / "docs" / "reference" / SCHEMA_NAME
some_records = pytest.mark.parametrize("made", RECORDS, ids=["sound", "damaged", "replayed"])


@some_records
def test_a_report_comes_back_from_its_bytes(made: ReportRecord) -> None:
    assert parse_report(made.to_bytes()) == made
    assert made.hash() == physical_hash(made.to_bytes())


@some_records
def test_the_bytes_are_canonical(made: ReportRecord) -> None:
    raw = made.to_bytes()
    plain = json.loads(raw)
    assert raw == json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert b"null" not in raw


@some_records
def test_the_published_schema_allows_it(made: ReportRecord) -> None:
    jsonschema.Draft202012Validator(json.loads(PUBLISHED.read_text())).validate(json.loads(made.to_bytes()))


def test_the_published_schema_is_the_one_in_force() -> None:
    assert PUBLISHED.read_text() == json.dumps(report_schema(), indent=2) + "\n", f"run python -m {__name__}"


@pytest.mark.parametrize(
    "missing", ["verdict", "kind", "version", "checks", "environment", "timings", "counts", "scope"]
)
def test_the_published_schema_asks_for_what_makes_a_report(missing: str) -> None:
    plain = {name: value for name, value in RECORDS[1].as_dict().items() if name != missing}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain, report_schema())


def test_fields_of_later_versions_are_passed_over() -> None:
    plain = RECORDS[0].as_dict() | {"signedBy": "somebody"}
    assert parse_report(orjson.dumps(plain)) == RECORDS[0]


def test_a_report_of_another_version_is_told_from_what_is_none() -> None:
    with pytest.raises(UnsupportedVersion):
        parse_report(orjson.dumps(RECORDS[0].as_dict() | {"version": 2}))


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b'{"kind":"VerificationReport","version":1}', b"\xff"])
def test_what_is_no_report_is_refused(raw: bytes) -> None:
    with pytest.raises(MalformedInput):
        parse_report(raw)


@given(st.binary(max_size=60), st.integers(0, 400))
def test_a_damaged_report_is_refused_or_another_report(junk: bytes, at: int) -> None:
    raw = RECORDS[1].to_bytes()
    with suppress(MalformedInput):
        assert parse_report(raw[:at] + junk + raw[at + len(junk) :]).dataset_id is not None


if __name__ == "__main__":
    PUBLISHED.write_text(json.dumps(report_schema(), indent=2) + "\n")
