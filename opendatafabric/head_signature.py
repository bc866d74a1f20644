"""Detached signatures of heads, and of hand-overs from one key to another: JSON beside the chain, which stays as it is.

What is signed is text of a fixed form, with a first line of its own for each purpose, so that no signature can be taken
for one of another kind. Keys are Ed25519, called by their ``did:key``; the key behind a ``did:odf`` is one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import InvalidSignature as WrongSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from opendatafabric.did import DatasetId
from opendatafabric.errors import InvalidSignature, MalformedInput
from opendatafabric.instant import Instant
from opendatafabric.multihash import Multihash

HEAD_PURPOSE: Final = "odf-repository head signature v1"
HAND_OVER_PURPOSE: Final = "odf-repository key hand-over v1"
NOBODY: Final = "nobody"
"""Who has to sign where no key does."""

_SIGNATURE_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class HeadSignature:
    """That whoever has ``key`` wants ``head`` to be a head of the dataset; checked when it was read."""

    dataset_id: DatasetId
    head: Multihash
    signed_at: Instant
    key: DatasetId
    signature: bytes

    @classmethod
    def make(cls, dataset_id: DatasetId, head: Multihash, signed_at: Instant, secret: bytes) -> HeadSignature:
        """Sign with the 32 bytes of a secret key."""
        signed = _signed(secret, _text(HEAD_PURPOSE, dataset_id, head, signed_at))
        return cls(dataset_id, head, signed_at, DatasetId.from_signing_key(secret), signed)

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> HeadSignature:
        """From plain JSON values.

        Raises:
            MalformedInput: it is none.
            InvalidSignature: the key did not sign that.
        """
        dataset_id, signed_at = (
            DatasetId.from_text(_field(told, "datasetId")),
            Instant.from_rfc3339(_field(told, "signedAt")),
        )
        head, key = Multihash.from_text(_field(told, "head")), DatasetId.from_did_key(_field(told, "key"))
        found = cls(dataset_id, head, signed_at, key, _bytes(told))
        _check(key, found.signature, _text(HEAD_PURPOSE, dataset_id, head, signed_at))
        return found

    def as_dict(self) -> dict[str, str]:
        """Plain JSON values."""
        return {
            "datasetId": str(self.dataset_id),
            "head": str(self.head),
            "signedAt": str(self.signed_at),
            "key": self.key.did_key,
            "signature": self.signature.hex(),
        }


@dataclass(frozen=True, slots=True)
class HandOver:
    """That whoever has ``old_key`` wants ``new_key`` to sign from now on; ``None``: nobody needs to."""

    dataset_id: DatasetId
    old_key: DatasetId
    new_key: DatasetId | None
    signed_at: Instant
    signature: bytes

    @classmethod
    def make(cls, dataset_id: DatasetId, new_key: DatasetId | None, signed_at: Instant, old_secret: bytes) -> HandOver:
        """Sign with the secret of the key that goes."""
        signed = _signed(old_secret, _text(HAND_OVER_PURPOSE, dataset_id, _did(new_key), signed_at))
        return cls(dataset_id, DatasetId.from_signing_key(old_secret), new_key, signed_at, signed)

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> HandOver:
        """From plain JSON values; errors as ``HeadSignature.read``."""
        dataset_id, signed_at = (
            DatasetId.from_text(_field(told, "datasetId")),
            Instant.from_rfc3339(_field(told, "signedAt")),
        )
        old_key, to = DatasetId.from_did_key(_field(told, "oldKey")), _field(told, "newKey")
        new_key = None if to == NOBODY else DatasetId.from_did_key(to)
        found = cls(dataset_id, old_key, new_key, signed_at, _bytes(told))
        _check(old_key, found.signature, _text(HAND_OVER_PURPOSE, dataset_id, to, signed_at))
        return found

    def as_dict(self) -> dict[str, str]:
        """Plain JSON values."""
        return {
            "datasetId": str(self.dataset_id),
            "oldKey": self.old_key.did_key,
            "newKey": _did(self.new_key),
            "signedAt": str(self.signed_at),
            "signature": self.signature.hex(),
        }


def _did(key: DatasetId | None) -> str:
    return NOBODY if key is None else key.did_key


def _text(*lines: object) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _signed(secret: bytes, text: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(secret).sign(text)


def _check(key: DatasetId, signature: bytes, text: bytes) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(key.public_key).verify(signature, text)
    except (WrongSignature, ValueError):
        raise InvalidSignature("the key did not sign that", found=key.did_key) from None


def _field(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    if not isinstance(value, str):
        raise MalformedInput(f"a signature says its {name} as text")
    return value


def _subject(told: Mapping[str, Any]) -> tuple[DatasetId, Instant]:
    return DatasetId.from_text(_field(told, "datasetId")), Instant.from_rfc3339(_field(told, "signedAt"))


def _bytes(told: Mapping[str, Any]) -> bytes:
    try:
        value = bytes.fromhex(_field(told, "signature"))
    except ValueError:
        value = b""
    if len(value) != _SIGNATURE_BYTES:
        raise MalformedInput("a signature has 64 bytes, in hexadecimal digits")
    return value
