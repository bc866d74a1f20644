"""Signing what a verification found: from its report to an attestation that is kept and given to whoever asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from catalog.attestations import AttestationKeys, Attestations, KeptAttestation
from opendatafabric.attestation.statement import Verification, attest
from opendatafabric.did import DatasetId
from opendatafabric.instant import Instant
from opendatafabric.multihash import Multihash
from verify.attestation.node_key import node_key
from verify.report import Check
from verify.report_record import EnvironmentRecord, ReportRecord


@dataclass(frozen=True, slots=True)
class Attester:
    """Signs with the key in ``key_path``, and keeps what it signs."""

    key_path: Path
    keys: AttestationKeys
    attestations: Attestations

    async def sign(self, record: ReportRecord) -> KeptAttestation | None:
        """The report, attested; ``None`` if it is about nothing that could be named: no dataset, or no head.

        Raises:
            AccessDenied, MalformedInput, StorageError: there is no key to be used.
        """
        verification = verification_of(record)
        if verification is None:
            return None
        key = await node_key(self.key_path, self.keys)
        kept = KeptAttestation(
            verification.dataset_id,
            verification.head,
            key.public.did,
            verification.verdict.value,
            verification.verified_at.to_datetime().timestamp(),
            attest(verification, key).as_json(),
        )
        await self.attestations.put(kept)
        return kept


def verification_of(record: ReportRecord) -> Verification | None:
    """What of a report is signed."""
    if record.dataset_id is None or record.head is None:
        return None
    return Verification(
        DatasetId.from_text(record.dataset_id),
        Multihash.from_text(record.head),
        record.verdict,
        record.hash(),
        Instant.from_rfc3339(record.timings.ended_at),
        replayed=any(each.check is Check.TRANSFORMS for each in record.checks),
        inputs={DatasetId.from_text(each.dataset_id): Multihash.from_text(each.block_hash) for each in record.inputs},
        environment=dict(_facts(record.environment)),
    )


def _facts(environment: EnvironmentRecord) -> Iterator[tuple[str, str]]:
    yield from sorted(environment.software.items())
    yield "platform", environment.platform
    if environment.time_zone_data is not None:
        yield "time-zone-data", environment.time_zone_data
    if environment.engine is not None:
        engine = environment.engine
        yield from (("engine", engine.engine), ("java", engine.java), ("arrow", engine.arrow))
        yield "engine-settings", engine.settings
