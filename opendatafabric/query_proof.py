"""Proofs of answers to queries, as the reference gives them: a commitment to question and answer, and its signature.

Hashes are over canonical JSON. Which keys to trust is the business of whoever checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from opendatafabric.attestation.keys import PublicKey, SigningKey
from opendatafabric.canonical_json import canonical_json, read_json_tokens
from opendatafabric.errors import HashMismatch, InvalidSignature, MalformedInput
from opendatafabric.multibase import decode_multibase, encode_base64url
from opendatafabric.multihash import Multihash, physical_hash

PROOF_TYPE: Final = "Ed25519Signature2020"
_COMMITMENT: Final = ("inputHash", "outputHash", "subQueriesHash")
_PROOF: Final = ("type", "verificationMethod", "proofValue")


@dataclass(frozen=True, slots=True)
class Commitment:
    """What is signed: hashes of question, answer and sub-queries."""

    input_hash: Multihash
    output_hash: Multihash
    sub_queries_hash: Multihash

    def as_plain(self) -> dict[str, str]:
        """JSON values."""
        hashes = (self.input_hash, self.output_hash, self.sub_queries_hash)
        return dict(zip(_COMMITMENT, map(str, hashes), strict=True))


@dataclass(frozen=True, slots=True)
class Proof:
    """Who signed a commitment, and the signature, both as text."""

    verification_method: str
    proof_value: str
    kind: str = PROOF_TYPE

    def as_plain(self) -> dict[str, str]:
        """JSON values."""
        return {"type": self.kind, "verificationMethod": self.verification_method, "proofValue": self.proof_value}


def hash_json(value: Any) -> Multihash:
    """The hash of JSON values in canonical form."""
    return physical_hash(canonical_json(value))


def commitment_to(question: Any, output_hash: Multihash) -> Commitment:
    """To an answer that was computed without sub-queries."""
    return Commitment(hash_json(question), output_hash, hash_json([]))


def prove(commitment: Commitment, key: SigningKey) -> Proof:
    """The signature over ``commitment``."""
    return Proof(key.public.did, encode_base64url(key.sign(canonical_json(commitment.as_plain()))))


def check_signature(commitment: Commitment, proof: Proof) -> PublicKey:
    """The key that signed.

    Raises:
        InvalidSignature: it is none of that key, or of a kind that is not known.
    """
    if proof.kind != PROOF_TYPE:
        raise InvalidSignature("the proof is of an unknown type", expected=PROOF_TYPE, found=proof.kind[:100])
    try:
        key, signature = PublicKey.from_did(proof.verification_method), decode_multibase(proof.proof_value)
    except MalformedInput as error:
        raise InvalidSignature(f"key or signature cannot be read: {error.message}") from None
    if not key.has_signed(canonical_json(commitment.as_plain()), signature):
        raise InvalidSignature("the key did not sign this commitment", expected=f"a signature by {key.did}")
    return key


def check_answer(raw: bytes) -> str:
    """The key that signed the answer in ``raw``: all hashes in it hold.

    Raises:
        MalformedInput: no answer with a proof.
        HashMismatch, InvalidSignature: a part of it is not what was signed.
    """
    answer = read_json_tokens(raw)
    try:
        commitment, proof = read_commitment(answer["commitment"]), read_proof(answer["proof"])
        parts = [(name, canonical_json(answer[name])) for name in ("input", "output", "subQueries")]
    except (KeyError, TypeError):
        raise MalformedInput("that is no answer with a proof", hint="odf sql --proof FILE makes one") from None
    hashes = (commitment.input_hash, commitment.output_hash, commitment.sub_queries_hash)
    for (name, text), expected in zip(parts, hashes, strict=True):
        if physical_hash(text) != expected:
            raise HashMismatch(f"the {name} is not what was signed", expected=expected, found=physical_hash(text))
    return check_signature(commitment, proof).did


def read_commitment(value: Any) -> Commitment:
    """From JSON values; ``MalformedInput`` if it is none."""
    return Commitment(*(Multihash.from_text(text) for text in _texts(value, _COMMITMENT, "commitment")))


def read_proof(value: Any) -> Proof:
    """From JSON values; ``MalformedInput`` if it is none."""
    kind, method, signature = _texts(value, _PROOF, "proof")
    return Proof(method, signature, kind)


def _texts(value: Any, names: tuple[str, ...], what: str) -> list[str]:
    if not isinstance(value, dict) or set(value) != set(names) or {type(each) for each in value.values()} != {str}:
        raise MalformedInput(f"that is no {what}", expected=", ".join(names))
    return [value[name] for name in names]
