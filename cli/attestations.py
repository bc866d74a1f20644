"""Signed verdicts from files, servers and the catalog of a repository, and the keys to check them with."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson

from catalog.attestations import KeptAttestation
from catalog.catalog import Catalog
from cli.bulk import read_file
from cli.catalogs import catalog_of
from cli.datasets import is_address, opened, opened_repository
from opendatafabric.attestation.document import KEYS_PATH, TrustedKey, read_key_document
from opendatafabric.attestation.dsse import envelope_of, envelopes_in
from opendatafabric.attestation.keys import PublicKey
from opendatafabric.attestation.policy import Judgement, judge
from opendatafabric.attestation.statement import verification_in
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.did import DatasetId
from opendatafabric.errors import InvalidSignature, MalformedInput
from opendatafabric.limits import ATTESTATIONS_BYTES_MAX
from repo_server.attestation_states import plain_attestations
from storage.http.answer import HttpFolder
from sync.credentials import headers_for, origin_of

_LIST: Final = "attestations"
_DID_KEY: Final = "did:key:"


@dataclass(frozen=True, slots=True)
class Trust:
    """``keys`` as ``did:key`` or files, ``servers`` whose published keys count, and how many must agree."""

    keys: Sequence[str]
    servers: Sequence[str]
    require: int


async def judged(files: Sequence[str], trust: Trust, dataset: str | None, repository: str) -> Judgement:
    """What the trusted keys say in the attestations of those files; of ``dataset`` as it is now, if one is named.

    Raises:
        InvalidSignature: too few of them say the same, or they say it of something else.
        MalformedInput: no key was given, or something is not what it should be.
    """
    trusted = [key for name in trust.keys for key in _keys_named(name)]
    for server in trust.servers:
        trusted += await _keys_of(server)
    if not trusted:
        raise MalformedInput("no key is trusted", hint="--key did:key:… or FILE, or --url of a server whose keys count")
    envelopes = [envelope for file in files for envelope in envelopes_in(_read(file))]
    if dataset is None:
        return judge(envelopes, trusted, require=trust.require)
    async with opened(dataset, repository) as found:
        subject = (await found.dataset.seed()).dataset_id, found.head
    about = [each for each in envelopes if verification_in(each).subject == subject]
    if not about:
        raise InvalidSignature(f"none of the attestations is about the head of {dataset}", expected=subject[1])
    return judge(about, trusted, require=trust.require)


async def listed(ref: str, repository: str) -> Mapping[str, Any]:
    """The attestations of a dataset here or on a server, as the API tells them."""
    if is_address(ref):
        return _told(await _get(ref, _LIST))
    async with _catalog_and_id(ref, repository) as (catalog, dataset_id):
        return plain_attestations(await catalog.attestations.list(dataset_id))


async def collect(ref: str, addresses: Sequence[str], repository: str) -> AsyncIterator[tuple[str, int]]:
    """Keep what servers have signed about a dataset that is here: each address and how much was new.

    What a key has not signed is not kept; whether the key is trusted is decided by whoever checks.
    """
    async with _catalog_and_id(ref, repository) as (catalog, dataset_id):
        for address in addresses:
            told = _told(await _get(address, _LIST))
            kept = [_proved(each, origin_of(address)) for each in told[_LIST]]
            new = [await catalog.attestations.put(each) for each in kept if each.dataset_id == dataset_id]
            yield address, sum(new)


@asynccontextmanager
async def _catalog_and_id(ref: str, repository: str) -> AsyncIterator[tuple[Catalog, DatasetId]]:
    async with opened_repository(repository) as root, catalog_of(repository) as catalog:
        yield catalog, (await root.find(parse_dataset_ref(ref))).id


def _proved(told: Any, source: str) -> KeptAttestation:
    """What a server told, as it is kept, if the key it names has signed it."""
    try:
        envelope, signer = envelope_of(told["envelope"]), PublicKey.from_did(told["signer"])
    except (KeyError, TypeError):
        raise _malformed(source) from None
    if not envelope.is_signed_by(signer):
        raise InvalidSignature(f"an attestation at {source} is not signed by the key it names", expected=signer.did)
    said = verification_in(envelope)
    at = said.verified_at.to_datetime().timestamp()
    return KeptAttestation(said.dataset_id, said.head, signer.did, said.verdict.value, at, envelope.as_json(), source)


def _told(data: bytes) -> dict[str, Any]:
    try:
        told = orjson.loads(data)
    except orjson.JSONDecodeError:
        told = None
    if not isinstance(told, dict) or not isinstance(told.get(_LIST), list):
        raise _malformed("the server")
    return told


def _malformed(source: str) -> MalformedInput:
    return MalformedInput(f"{source} did not answer with a list of attestations")


def _keys_named(name: str) -> Iterable[TrustedKey]:
    if name.startswith(_DID_KEY):
        return [TrustedKey(PublicKey.from_did(name))]
    data = _read(name)
    return [TrustedKey(PublicKey.from_pem(data))] if data.startswith(b"-----BEGIN") else read_key_document(data)


async def _keys_of(server: str) -> list[TrustedKey]:
    return read_key_document(await _get(origin_of(server), KEYS_PATH.removeprefix("/")))


async def _get(address: str, path: str) -> bytes:
    async with aiohttp.ClientSession() as session:
        folder = HttpFolder(session, address.removeprefix("odf+"), headers_for(address))
        return await folder.read(path, size_max=ATTESTATIONS_BYTES_MAX)


def _read(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else read_file(Path(file))
