"""Proofs of answers, against the vector of the reference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opendatafabric.attestation.keys import SigningKey
from opendatafabric.errors import InvalidSignature, MalformedInput
from opendatafabric.multihash import Multihash, physical_hash
from opendatafabric.query_proof import (
    Commitment,
    check_signature,
    commitment_to,
    hash_json,
    prove,
    read_commitment,
    read_proof,
)

KEY = SigningKey(b"\x7b" * 32)
EMPTY = "f1620ca4510738395af1429224dd785675309c344b2b549632e20275c69b15ed1d210"
COMMITMENT = {
    "inputHash": "f16202cc4bad0a263dadc1b9b4247b45d9a04dae07bc3f19f2a763220b8fdc18532ff",
    "outputHash": "f162023bf57fb44c5524658c1395b20d877c91e7136424f78884d781562c129c23e4c",
    "subQueriesHash": EMPTY,
}
PROOF = {
    "type": "Ed25519Signature2020",
    "verificationMethod": "did:key:z6Mko2nqhQ9wYSTS5Giab2j1aHzGnxHimqwmFeEVY8aNsVnN",
    "proofValue": "uyJz6aECw7G6Eqvd_FLZ3Q-F_husby-ZUx9I-KyW1mRS0FyhyjlYhTsQHtM36YuNydIX9FWxgq0ondQBMUmoOAw",
}


def test_a_proof_is_that_of_the_reference() -> None:
    commitment = read_commitment(COMMITMENT)
    assert prove(commitment, KEY).as_plain() == PROOF
    assert check_signature(commitment, read_proof(PROOF)) == KEY.public


def test_nothing_but_what_was_signed_is_proved() -> None:
    commitment, proof = read_commitment(COMMITMENT), read_proof(PROOF)
    other = replace(commitment, output_hash=physical_hash(b"another"))
    with pytest.raises(InvalidSignature, match="did not sign"):
        check_signature(other, proof)
    with pytest.raises(InvalidSignature, match="did not sign"):
        check_signature(commitment, replace(proof, verification_method=SigningKey(b"\x01" * 32).public.did))


@pytest.mark.parametrize(
    "changed",
    [{"type": "Ed25519"}, {"verificationMethod": "did:key:z6"}, {"proofValue": "u"}, {"proofValue": "!"}],
)
def test_a_proof_of_another_kind_is_no_proof(changed: dict[str, str]) -> None:
    with pytest.raises(InvalidSignature):
        check_signature(read_commitment(COMMITMENT), read_proof(PROOF | changed))


@pytest.mark.parametrize("value", [None, [], {}, COMMITMENT | {"more": "x"}, COMMITMENT | {"inputHash": 1}])
def test_what_is_no_commitment_is_refused(value: object) -> None:
    with pytest.raises(MalformedInput):
        read_commitment(value)
    with pytest.raises(MalformedInput):
        read_proof(value)


def test_a_commitment_is_to_question_and_answer() -> None:
    question, output = {"query": "select 1"}, physical_hash(b"{}")
    assert commitment_to(question, output) == Commitment(hash_json(question), output, Multihash.from_text(EMPTY))
