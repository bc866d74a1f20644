"""Keys and signed verdicts to be checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opendatafabric.attestation.dsse import Envelope
from opendatafabric.attestation.keys import SigningKey
from opendatafabric.attestation.statement import Verification, attest
from opendatafabric.attestation.verdict import Verdict
from opendatafabric.instant import Instant
from opendatafabric.multihash import physical_hash
from tests.storage.chains import dataset_id

HEAD, OLDER_HEAD, REPORT = (physical_hash(data) for data in (b"a block", b"an older block", b"a report"))
NOON = Instant.from_rfc3339("2026-05-01T12:00:00Z")

VERIFICATION = Verification(
    dataset_id(1),
    HEAD,
    Verdict.VALID,
    REPORT,
    NOON,
    replayed=True,
    inputs={dataset_id(3): physical_hash(b"one input"), dataset_id(2): physical_hash(b"another")},
    environment={"spark": "4.1.0", "java": "21.0.2"},
)


def key(number: int = 1) -> SigningKey:
    """One of many keys, the same each time."""
    return SigningKey(bytes([number]) * 32)


def signed(number: int = 1, **changes: Any) -> Envelope:
    """A verdict by that key."""
    return attest(replace(VERIFICATION, **changes), key(number))
