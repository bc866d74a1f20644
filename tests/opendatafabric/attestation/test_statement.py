"""Statements: what in-toto asks for, and what comes back from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from opendatafabric.attestation.dsse import Envelope, signed_envelope
from opendatafabric.attestation.statement import PAYLOAD_TYPE, verification_in
from opendatafabric.attestation.verdict import Verdict
from opendatafabric.errors import MalformedInput
from opendatafabric.multihash import physical_hash
from tests.opendatafabric.attestation.signed import HEAD, REPORT, VERIFICATION, key, signed
from tests.storage.chains import dataset_id

STATEMENT = {
    "_type": "https://in-toto.io/Statement/v1",
    "subject": [{"name": str(dataset_id(1)), "digest": {"sha3_256": HEAD.digest.hex()}}],
    "predicateType": "urn:odf-repository:predicate:verification:v1",
    "predicate": {
        "verdict": "valid",
        "timeVerified": "2026-05-01T12:00:00Z",
        "replayed": True,
        "report": {"digest": {"sha3_256": REPORT.digest.hex()}},
        "inputs": [
            {"name": str(name), "digest": {"sha3_256": physical_hash(block).digest.hex()}}
            for name, block in sorted({dataset_id(2): b"another", dataset_id(3): b"one input"}.items())
        ],
        "environment": {"spark": "4.1.0", "java": "21.0.2"},
    },
}


def test_a_statement_is_that_of_in_toto() -> None:
    assert orjson.loads(signed().payload) == STATEMENT
    assert signed().payload_type == "application/vnd.in-toto+json"


def test_the_same_verification_gives_the_same_bytes() -> None:
    turned = replace(VERIFICATION, inputs=dict(reversed(VERIFICATION.inputs.items())))
    assert signed(inputs=turned.inputs, environment={"java": "21.0.2", "spark": "4.1.0"}) == signed()


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_verification_comes_back_from_its_envelope(verdict: Verdict) -> None:
    said = replace(VERIFICATION, verdict=verdict, replayed=False, inputs={}, environment={})
    assert verification_in(signed(verdict=verdict, replayed=False, inputs={}, environment={})) == said


def changed(*path: Any, to: Any) -> Envelope:
    """The statement with another value somewhere, or without one, signed."""
    statement = orjson.loads(orjson.dumps(STATEMENT))
    place = statement
    for step in path[:-1]:
        place = place[step]
    if to is None:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return signed_envelope(PAYLOAD_TYPE, orjson.dumps(statement), key())


@pytest.mark.parametrize(
    "envelope",
    [
        changed("_type", to="https://in-toto.io/Statement/v0.1"),
        changed("predicateType", to="https://slsa.dev/provenance/v1"),
        changed("subject", to=[]),
        changed("subject", to=STATEMENT["subject"] * 2),
        changed("subject", 0, "name", to="did:odf:nonsense"),
        changed("subject", 0, "digest", to={"sha256": HEAD.digest.hex()}),
        changed("subject", 0, "digest", "sha3_256", to=HEAD.digest.hex()[:-2]),
        changed("subject", 0, "digest", "sha3_256", to=5),
        changed("predicate", to=[]),
        changed("predicate", "verdict", to="perfect"),
        changed("predicate", "timeVerified", to="yesterday"),
        changed("predicate", "report", to=None),
        changed("predicate", "inputs", to=5),
        changed("predicate", "environment", to=[]),
        signed_envelope(PAYLOAD_TYPE, b"no JSON", key()),
        signed_envelope(PAYLOAD_TYPE, b"[]", key()),
        signed_envelope("text/plain", signed().payload, key()),
    ],
)
def test_what_is_no_such_statement_is_refused_as_malformed(envelope: Envelope) -> None:
    with pytest.raises(MalformedInput) as refused:
        verification_in(envelope)
    assert refused.value.code == "malformed-input"


def test_fields_of_later_versions_are_passed_over() -> None:
    assert verification_in(changed("predicate", "more", to=1)) == VERIFICATION
