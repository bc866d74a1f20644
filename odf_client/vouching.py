"""Signed verdicts on a dataset: who has verified it, and whose word counts for whoever asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import aiohttp

from odf_client.address import Address
from opendatafabric.attestation.document import KEYS_PATH, TrustedKey, read_key_document
from opendatafabric.attestation.dsse import Envelope, envelopes_in
from opendatafabric.attestation.keys import PublicKey
from opendatafabric.attestation.policy import judge
from opendatafabric.attestation.statement import verification_in
from opendatafabric.did import DatasetId
from opendatafabric.errors import InvalidSignature, UnsupportedOperation
from opendatafabric.limits import ATTESTATIONS_BYTES_MAX
from opendatafabric.multihash import Multihash
from storage.http.answer import HttpFolder
from sync.credentials import origin_of

_DID_KEY: Final = "did:key:"


@dataclass(frozen=True, slots=True)
class Vouched:
    """What enough of the trusted keys have signed: ``verdict`` is ``valid``, ``invalid`` or ``error``."""

    verdict: str
    head: str
    signers: tuple[str, ...]
    verified_at: datetime


async def vouched(
    address: Address, subject: tuple[DatasetId, Multihash], trust: Sequence[str], require: int
) -> Vouched:
    """What the trusted keys say of that head; errors as in ``Dataset.verify_attestation``."""
    if not address.is_web:
        raise UnsupportedOperation(f"{address.shown} is no server that tells attestations", expected="http(s)://…")
    envelopes = envelopes_in(await _read(address.url, "attestations", address))
    about = [each for each in envelopes if _is_about(each, subject)]
    keys = [key for name in trust or [origin_of(address.url)] for key in await _keys(name, address)]
    if not about:
        raise InvalidSignature(f"nobody has signed a verdict on this head of {address.shown}", expected=subject[1])
    agreed = judge(about, keys, require=require).agreed
    signers = tuple(key.did for key in agreed.signers)
    return Vouched(agreed.verdict.value, str(agreed.head), signers, agreed.verified_at.to_datetime())


def _is_about(envelope: Envelope, subject: tuple[DatasetId, Multihash]) -> bool:
    return verification_in(envelope).subject == subject


async def _keys(name: str, address: Address) -> list[TrustedKey]:
    """A key by its DID, or those that a server publishes; only the server of the dataset is told who asks."""
    if name.startswith(_DID_KEY):
        return [TrustedKey(PublicKey.from_did(name))]
    asking = address if origin_of(name) == origin_of(address.url) else Address(name)
    return read_key_document(await _read(origin_of(name), KEYS_PATH.removeprefix("/"), asking))


async def _read(url: str, path: str, asking: Address) -> bytes:
    async with aiohttp.ClientSession() as session:
        return await HttpFolder(session, url, asking.headers).read(path, size_max=ATTESTATIONS_BYTES_MAX)
