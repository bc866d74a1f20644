"""Keys that verdicts are signed with: Ed25519, each called by its ``did:key``. Where they lie is for ``node_key``."""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature as WrongSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from opendatafabric.did import PUBLIC_KEY_BYTES, DatasetId
from opendatafabric.errors import MalformedIdentifier, MalformedInput


@dataclass(frozen=True, slots=True, order=True)
class PublicKey:
    """The 32 bytes of an Ed25519 key."""

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != PUBLIC_KEY_BYTES:
            raise MalformedIdentifier("a public key has another length", expected=f"{PUBLIC_KEY_BYTES} bytes")

    @classmethod
    def from_did(cls, text: str) -> PublicKey:
        """From ``did:key:z6Mk…``.

        Raises:
            MalformedIdentifier: it is none, or a key of another kind.
        """
        return cls(DatasetId.from_did_key(text).public_key)

    @classmethod
    def from_pem(cls, pem: bytes) -> PublicKey:
        """From ``-----BEGIN PUBLIC KEY-----``.

        Raises:
            MalformedInput: it is none, or a key of another kind.
        """
        try:
            key = load_pem_public_key(pem)
        except ValueError:
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise MalformedInput("that is no Ed25519 public key", expected="did:key:z6Mk…, PEM, or a key document")
        return cls(key.public_bytes_raw())

    @property
    def did(self) -> str:
        """``did:key:z6Mk…``, which names the key and holds it."""
        return DatasetId.from_public_key(self.raw).did_key

    def has_signed(self, message: bytes, signature: bytes) -> bool:
        """Whether ``signature`` is by this key, over exactly this message."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except WrongSignature:
            return False
        return True


class SigningKey:
    """A secret key. Nothing prints it."""

    def __init__(self, secret: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(secret)

    @property
    def public(self) -> PublicKey:
        """What others check signatures with."""
        return PublicKey(self._key.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        """The signature over ``message``: 64 bytes, always the same."""
        return self._key.sign(message)
