"""What is attested: an in-toto Statement (v1) that a dataset, up to a head, was verified, and with what verdict.

The subject is the dataset: its id as the name, the digest of its head block. A head block names all before it by hash,
so a statement speaks of the whole chain, and of no later block. See docs/reference/attestations.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from opendatafabric.attestation.dsse import Envelope, signed_envelope
from opendatafabric.attestation.keys import SigningKey
from opendatafabric.attestation.verdict import Verdict
from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedIdentifier, MalformedInput
from opendatafabric.instant import Instant
from opendatafabric.multihash import Multihash

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:odf-repository:predicate:verification:v1"
"""Ours: what its fields mean is in docs/reference/attestations.md, and never changes under this name."""

_DIGEST: Final = "sha3_256"
"""What in-toto calls the hash that blocks are named by."""

_SHA3_256: Final = "f1620"


@dataclass(frozen=True, slots=True)
class Verification:
    """That ``dataset_id`` was verified up to ``head``, at that time, and came out so.

    ``inputs`` are the heads of the datasets that it was derived from; ``environment`` is what the result depends on.
    """

    dataset_id: DatasetId
    head: Multihash
    verdict: Verdict
    report: Multihash
    verified_at: Instant
    replayed: bool
    inputs: Mapping[DatasetId, Multihash] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def subject(self) -> tuple[DatasetId, Multihash]:
        """What the statement is about."""
        return self.dataset_id, self.head

    def as_statement(self) -> dict[str, Any]:
        """The statement as plain JSON values."""
        return {
            "_type": STATEMENT_TYPE,
            "subject": [_resource(self.dataset_id, self.head)],
            "predicateType": PREDICATE_TYPE,
            "predicate": {
                "verdict": self.verdict.value,
                "timeVerified": str(self.verified_at),
                "replayed": self.replayed,
                "report": {"digest": _digest(self.report)},
                "inputs": [_resource(*each) for each in sorted(self.inputs.items())],
                "environment": dict(self.environment),
            },
        }


def attest(verification: Verification, key: SigningKey) -> Envelope:
    """The verification, signed."""
    payload = orjson.dumps(verification.as_statement(), option=orjson.OPT_SORT_KEYS)
    return signed_envelope(PAYLOAD_TYPE, payload, key)


def verification_in(envelope: Envelope) -> Verification:
    """What the envelope says; who says it was not looked at.

    Raises:
        MalformedInput: another kind of statement, or one that lacks something.
    """
    if envelope.payload_type != PAYLOAD_TYPE:
        raise _other("payload type", PAYLOAD_TYPE, envelope.payload_type)
    try:
        return _verification(orjson.loads(envelope.payload))
    except (KeyError, TypeError, AttributeError, ValueError, MalformedIdentifier) as error:
        raise MalformedInput(f"the attestation is not complete or malformed: {type(error).__name__} {error}") from None


def _verification(statement: Any) -> Verification:
    for name, expected in (("_type", STATEMENT_TYPE), ("predicateType", PREDICATE_TYPE)):
        if statement[name] != expected:
            raise _other(name, expected, statement[name])
    (subject,) = statement["subject"]
    predicate = statement["predicate"]
    dataset_id, head = _read_resource(subject)
    return Verification(
        dataset_id,
        head,
        Verdict(predicate["verdict"]),
        _read_digest(predicate["report"]["digest"]),
        Instant.from_rfc3339(predicate["timeVerified"]),
        bool(predicate["replayed"]),
        dict(map(_read_resource, predicate["inputs"])),
        {str(name): str(value) for name, value in predicate["environment"].items()},
    )


def _resource(dataset_id: DatasetId, head: Multihash) -> dict[str, Any]:
    return {"name": str(dataset_id), "digest": _digest(head)}


def _digest(hash_: Multihash) -> dict[str, str]:
    return {_DIGEST: hash_.digest.hex()}


def _read_resource(value: Any) -> tuple[DatasetId, Multihash]:
    return DatasetId.from_text(value["name"]), _read_digest(value["digest"])


def _read_digest(value: Any) -> Multihash:
    return Multihash.from_text(_SHA3_256 + value[_DIGEST])


def _other(what: str, expected: str, found: object) -> MalformedInput:
    return MalformedInput(f"the attestation has another {what}", expected=expected, found=str(found)[:100])
