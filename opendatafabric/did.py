"""Identities of datasets and accounts: ``did:odf``, ``did:key`` and, for accounts, ``did:pkh``.

A dataset id is an ed25519 public key behind its multicodec (spec: Unique Identifiers; RFC-012 for base16). The private
key never enters the metadata and is not kept here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.limits import IDENTIFIER_CHARS_MAX
from opendatafabric.multibase import REFERENCE_BASES, decode_multibase, encode_base16, encode_base58btc
from opendatafabric.multicodec import Multicodec
from opendatafabric.varint import decode_varint, encode_varint

PUBLIC_KEY_BYTES: Final = 32
PRIVATE_KEY_BYTES: Final = 32
_KEY_PREFIX: Final = encode_varint(Multicodec.ED25519_PUB)
_ODF_PREFIX: Final = "did:odf:"
_KEY_DID_PREFIX: Final = "did:key:"
_PKH_PREFIX: Final = "did:pkh:"
_PKH: Final = re.compile(
    r"(?P<chain>[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}):(?:0x)?(?P<address>[-.%a-zA-Z0-9]{1,128})", re.ASCII
)


@dataclass(frozen=True, slots=True, order=True)
class DatasetId:
    """An ed25519 public key; ``key`` is the multikey of 34 bytes (``ed01`` and the public key)."""

    key: bytes

    def __post_init__(self) -> None:
        code, position = decode_varint(self.key)
        if code != Multicodec.ED25519_PUB:
            raise MalformedIdentifier(f"key type {code:#x} is not supported", expected="ed25519-pub (0xed)")
        length = len(self.key) - position
        if length != PUBLIC_KEY_BYTES:
            raise MalformedIdentifier(
                "public key has the wrong length", expected=f"{PUBLIC_KEY_BYTES} bytes", found=f"{length} bytes"
            )

    @classmethod
    def from_bytes(cls, data: bytes) -> DatasetId:
        """From the 34 bytes stored in blocks."""
        return cls(bytes(data))

    @classmethod
    def from_multibase(cls, text: str, bases: frozenset[str] = REFERENCE_BASES) -> DatasetId:
        """From ``fed01…`` (the name of the dataset's folder) or the same in another base."""
        return cls(decode_multibase(text, bases))

    @classmethod
    def from_text(cls, text: str, bases: frozenset[str] = REFERENCE_BASES) -> DatasetId:
        """From ``did:odf:`` and multibase; the prefix is lower case.

        Raises:
            MalformedIdentifier: another method, another base, another key type or length.
        """
        return cls.from_multibase(_after_prefix(text, _ODF_PREFIX), bases)

    @classmethod
    def from_did_key(cls, text: str, bases: frozenset[str] = REFERENCE_BASES) -> DatasetId:
        """From ``did:key:`` and multibase: the same key under W3C's method."""
        return cls.from_multibase(_after_prefix(text, _KEY_DID_PREFIX), bases)

    @classmethod
    def from_public_key(cls, public_key: bytes) -> DatasetId:
        """From 32 bare bytes."""
        return cls(_KEY_PREFIX + public_key)

    @classmethod
    def from_signing_key(cls, secret: bytes) -> DatasetId:
        """The id whose private key is ``secret`` (32 bytes; RFC 8032).

        Raises:
            MalformedIdentifier: any other length.
        """
        if len(secret) != PRIVATE_KEY_BYTES:
            raise MalformedIdentifier(
                "private key has the wrong length", expected=f"{PRIVATE_KEY_BYTES} bytes", found=f"{len(secret)} bytes"
            )
        return cls.from_public_key(Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw())

    @property
    def public_key(self) -> bytes:
        """32 bytes."""
        return self.key[len(_KEY_PREFIX) :]

    @property
    def multibase(self) -> str:
        """``fed01…``: the id without its prefix."""
        return encode_base16(self.key)

    @property
    def did_key(self) -> str:
        """The same key as ``did:key:z6Mk…``."""
        return _KEY_DID_PREFIX + encode_base58btc(self.key)

    def __bytes__(self) -> bytes:
        return self.key

    def __str__(self) -> str:
        return _ODF_PREFIX + self.multibase


def new_dataset_id(secret: bytes) -> DatasetId:
    """The id of a new dataset; ``secret`` is 32 bytes of the caller's randomness, to be kept or thrown away."""
    return DatasetId.from_signing_key(secret)


@dataclass(frozen=True, slots=True)
class AccountId:
    """``did:odf:…`` of an account here, or ``did:pkh:…`` of one that is known by its wallet. ``text`` is canonical."""

    text: str

    @classmethod
    def from_text(cls, text: str) -> AccountId:
        """Read either form.

        Raises:
            MalformedIdentifier: another method, or malformed inside.
        """
        if text.startswith(_ODF_PREFIX):
            return cls(str(DatasetId.from_text(text)))
        if text.startswith(_PKH_PREFIX) and len(text) <= IDENTIFIER_CHARS_MAX:
            if _PKH.fullmatch(text.removeprefix(_PKH_PREFIX)) is None:
                raise MalformedIdentifier(f"{text!r} is not a did:pkh", hint="did:pkh:<namespace>:<chain>:<address>")
            return cls(text)
        raise MalformedIdentifier(f"{text[:100]!r} is no account id", expected="did:odf:… or did:pkh:…")

    @property
    def method(self) -> str:
        """``odf`` or ``pkh``."""
        return self.text.split(":")[1]

    @property
    def bare(self) -> str:
        """What follows the method: the multibase key, or the address of the wallet without ``0x``."""
        if self.method == "odf":
            return self.text.removeprefix(_ODF_PREFIX)
        found = _PKH.fullmatch(self.text.removeprefix(_PKH_PREFIX))
        return found["address"] if found else self.text

    def __str__(self) -> str:
        return self.text


def _after_prefix(text: str, prefix: str) -> str:
    if not text.startswith(prefix):
        raise MalformedIdentifier(f"{text[:100]!r} does not begin with {prefix}")
    return text[len(prefix) :]
