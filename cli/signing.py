"""Signing heads with a key in a file, and putting the signatures down where they are asked for."""

from __future__ import annotations

import binascii
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cli.datasets import opened
from cli.lifecycles import server_path
from cli.server_deeds import done_by_server
from cli.server_reports import located_on_server
from opendatafabric.did import PRIVATE_KEY_BYTES, DatasetId
from opendatafabric.errors import MalformedInput, NotFound, StorageError, UnsupportedOperation
from opendatafabric.head_signature import NOBODY, HandOver, HeadSignature
from opendatafabric.instant import Instant
from storage.head_signatures import add_signature
from storage.open import scheme_of

Told = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SignedPush:
    """A signature for a server; ``after`` when its dataset is made by the push."""

    url: str
    signature: HeadSignature
    after: bool

    async def put_down_after(self) -> None:
        """Once the dataset is there."""
        if self.after:
            await _put_down(self.url, self.signature)


async def signed_for(ref: str, repository: str, remote: str, key_file: Path) -> SignedPush:
    """The head of a dataset, signed for where it is pushed to; put down there already unless it is new there.

    Raises:
        UnsupportedOperation: it is pushed to a folder.
        MalformedInput, StorageError: the file holds no key.
    """
    url = remote.removeprefix("odf+").rstrip("/")
    if scheme_of(url) not in {"http", "https"}:
        raise UnsupportedOperation("signatures are put down at servers", hint="in a folder: odf sign REF --repo DIR")
    signature = await _signature(ref, repository, read_key(key_file))
    try:
        await _put_down(url, signature)
    except NotFound:
        return SignedPush(url, signature, after=True)
    return SignedPush(url, signature, after=False)


async def signed(ref: str, repository: str, key_file: Path) -> Told:
    """The head of a dataset signed, and the signature kept beside it: here, or by its server."""
    signature = await _signature(ref, repository, read_key(key_file))
    there = await located_on_server(ref, repository)
    if there is not None:
        await _put_down(server_path(there), signature)
        return signature.as_dict()
    async with opened(ref, repository) as found:
        await add_signature(found.dataset.writable_objects(), signature)
    return signature.as_dict()


async def handed_over(ref: str, repository: str, key_file: Path, *, to: str) -> Told:
    """The policy of a dataset on a server, once another key signs."""
    there = await located_on_server(ref, repository)
    if there is None:
        raise UnsupportedOperation(
            "keys are handed over at servers", hint="in a folder: odf policy REF --signed-by KEY"
        )
    async with opened(ref, repository) as found:
        dataset_id = (await found.dataset.seed()).dataset_id
    named = key_named(to)
    new_key = None if named in (None, NOBODY) else DatasetId.from_did_key(str(named))
    hand_over = HandOver.make(dataset_id, new_key, _now(), read_key(key_file))
    return await done_by_server("POST", f"{server_path(there)}/policy/hand-over", hand_over.as_dict())


def key_named(text: str | None) -> str | None:
    """``did:key:…`` or ``nobody`` as it is, or the key in a file."""
    if text is None or text == NOBODY or text.startswith("did:key:"):
        return text
    return DatasetId.from_signing_key(read_key(Path(text))).did_key


def read_key(path: Path) -> bytes:
    """The secret in a file: 32 bytes, or 64 hexadecimal digits.

    Raises:
        StorageError: it cannot be read.
        MalformedInput: it is none; what is in it is not told.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise StorageError(f"key {path} cannot be read: {error.strerror}") from None
    try:
        secret = raw if len(raw) == PRIVATE_KEY_BYTES else binascii.unhexlify(raw.strip())
    except binascii.Error:
        secret = b""
    if len(secret) != PRIVATE_KEY_BYTES:
        raise MalformedInput(f"{path} holds no key", hint="make one: openssl rand -hex 32 > KEYFILE; chmod 600 KEYFILE")
    return secret


async def _signature(ref: str, repository: str, secret: bytes) -> HeadSignature:
    async with opened(ref, repository) as found:
        dataset_id = (await found.dataset.seed()).dataset_id
        return HeadSignature.make(dataset_id, found.head, _now(), secret)


async def _put_down(url: str, signature: HeadSignature) -> None:
    await done_by_server("PUT", f"{url}/signatures/{signature.head}", signature.as_dict())


def _now() -> Instant:
    return Instant.from_datetime(datetime.now(UTC).replace(microsecond=0))
