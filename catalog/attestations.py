"""Signed verdicts on datasets, of our own and of others; and with which keys this repository has signed, and when.

The envelopes are kept as the bytes that they are; what is in them is not known here. Times are seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.verification_tables import attestation_keys, attestations
from opendatafabric.did import DatasetId
from opendatafabric.limits import ATTESTATIONS_LISTED_MAX, ATTESTATIONS_PER_DATASET_MAX
from opendatafabric.multihash import Multihash, physical_hash


@dataclass(frozen=True, slots=True)
class KeptAttestation:
    """``signer`` is the ``did:key`` whose signature it bears; ``source`` says which server it was got from, if not from
    this one."""

    dataset_id: DatasetId
    head: Multihash
    signer: str
    verdict: str
    verified_at: float
    envelope: bytes
    source: str | None = None


@dataclass(frozen=True, slots=True)
class KeptKey:
    """A public key as ``did:key``, good from and until then."""

    did: str
    valid_from: float
    valid_until: float | None


class Attestations:
    """Those of one catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, attestation: KeptAttestation) -> bool:
        """Keep it, the oldest going if there are too many of the dataset; ``False`` when it was here already."""
        name = str(physical_hash(attestation.envelope))
        async with self._database.writing() as connection:
            if await _exists(connection, name):
                return False
            await connection.execute(insert(attestations).values(_row(attestation, name)))
            await _drop_oldest(connection, attestation.dataset_id)
        return True

    async def list(
        self, dataset_id: DatasetId, *, head: Multihash | None = None, count_max: int = ATTESTATIONS_LISTED_MAX
    ) -> list[KeptAttestation]:
        """Those of a dataset, or of one of its heads, the newest first."""
        query = select(attestations).where(attestations.c.dataset_id == str(dataset_id))
        if head is not None:
            query = query.where(attestations.c.head == str(head))
        query = query.order_by(attestations.c.verified_at.desc(), attestations.c.id.desc()).limit(count_max)
        async with self._database.reading() as connection:
            return [_kept(row) for row in await connection.execute(query)]


class AttestationKeys:
    """The public keys of one catalog. The secrets lie elsewhere."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database, self._now = database, now

    async def publish(self, did: str) -> None:
        """That key is in use, from now on unless it has been before."""
        query = select(attestation_keys.c.did).where(attestation_keys.c.did == did)
        async with self._database.reading() as connection:
            if (await connection.execute(query)).first() is not None:
                return
        async with self._database.writing() as connection:
            if (await connection.execute(query)).first() is None:
                await connection.execute(insert(attestation_keys).values({"did": did, "valid_from": self._now()}))

    async def retire(self, did: str) -> None:
        """That key is used no more; what it has signed until now stays good."""
        unretired = (attestation_keys.c.did == did) & attestation_keys.c.valid_until.is_(None)
        async with self._database.writing() as connection:
            await connection.execute(update(attestation_keys).where(unretired).values(valid_until=self._now()))

    async def list(self) -> list[KeptKey]:
        """All that ever were, the newest first."""
        query = select(attestation_keys).order_by(attestation_keys.c.valid_from.desc(), attestation_keys.c.did)
        async with self._database.reading() as connection:
            return [KeptKey(row.did, row.valid_from, row.valid_until) for row in await connection.execute(query)]


async def _exists(connection: AsyncConnection, name: str) -> bool:
    query = select(attestations.c.id).where(attestations.c.envelope_hash == name)
    return (await connection.execute(query)).first() is not None


async def _drop_oldest(connection: AsyncConnection, dataset_id: DatasetId) -> None:
    mine = attestations.c.dataset_id == str(dataset_id)
    newest = select(attestations.c.id).where(mine).order_by(attestations.c.verified_at.desc(), attestations.c.id.desc())
    beyond = newest.offset(ATTESTATIONS_PER_DATASET_MAX).limit(1)  # one comes in, so at most one is too many
    oldest = (await connection.execute(beyond)).scalar()
    await connection.execute(delete(attestations).where(attestations.c.id == oldest))


def _row(attestation: KeptAttestation, name: str) -> dict[str, Any]:
    return {
        "dataset_id": str(attestation.dataset_id),
        "head": str(attestation.head),
        "signer": attestation.signer,
        "verdict": attestation.verdict,
        "verified_at": attestation.verified_at,
        "source": attestation.source,
        "envelope": attestation.envelope,
        "envelope_hash": name,
    }


def _kept(row: Row[Any]) -> KeptAttestation:
    return KeptAttestation(
        DatasetId.from_text(row.dataset_id),
        Multihash.from_text(row.head),
        row.signer,
        row.verdict,
        row.verified_at,
        row.envelope,
        row.source,
    )
