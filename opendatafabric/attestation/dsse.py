"""DSSE envelopes (Dead Simple Signing Envelope 1.0): a payload, its type, and signatures over both.

What is signed is not JSON but the pre-authentication encoding: lengths and bytes, so that there is one way to read it.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any, Final

import orjson

from opendatafabric.attestation.keys import PublicKey, SigningKey
from opendatafabric.errors import LimitExceeded, MalformedInput
from opendatafabric.limits import ATTESTATION_BYTES_MAX, ATTESTATION_SIGNATURES_MAX

_LIST: Final = "attestations"
"""What the API of a server calls a list of them."""


@dataclass(frozen=True, slots=True)
class Signature:
    """``key_id`` is a hint only, which anybody could have written."""

    key_id: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload with signatures, none of which has been checked."""

    payload_type: str
    payload: bytes
    signatures: tuple[Signature, ...]

    def is_signed_by(self, key: PublicKey) -> bool:
        """Whether one of the signatures is by that key, whatever their hints say."""
        message = pre_authentication_encoding(self.payload_type, self.payload)
        return any(key.has_signed(message, signature.value) for signature in self.signatures)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "payload": _encoded(self.payload),
            "payloadType": self.payload_type,
            "signatures": [{"keyid": each.key_id, "sig": _encoded(each.value)} for each in self.signatures],
        }

    def as_json(self) -> bytes:
        """The envelope on one line."""
        return orjson.dumps(self.as_dict())


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """The bytes that are signed."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def signed_envelope(payload_type: str, payload: bytes, key: SigningKey) -> Envelope:
    """The payload, signed by ``key``."""
    signature = key.sign(pre_authentication_encoding(payload_type, payload))
    return Envelope(payload_type, payload, (Signature(key.public.did, signature),))


def read_envelope(data: bytes) -> Envelope:
    """An envelope from its JSON.

    Raises:
        LimitExceeded: longer than ``ATTESTATION_BYTES_MAX``, or more signatures than anybody needs.
        MalformedInput: it is none.
    """
    if len(data) > ATTESTATION_BYTES_MAX:
        raise LimitExceeded("an attestation is too long", expected=ATTESTATION_BYTES_MAX, found=len(data))
    try:
        return envelope_of(orjson.loads(data))
    except orjson.JSONDecodeError:
        raise _malformed("no JSON") from None


def envelope_of(value: Any) -> Envelope:
    """An envelope from JSON values; errors as in ``read_envelope``."""
    if not isinstance(value, dict):
        raise _malformed("no object")
    signatures = value.get("signatures")
    if not isinstance(signatures, list) or not signatures:
        raise _malformed("no signature")
    if len(signatures) > ATTESTATION_SIGNATURES_MAX:
        raise LimitExceeded(
            "an attestation has too many signatures", expected=ATTESTATION_SIGNATURES_MAX, found=len(signatures)
        )
    payload = _decoded(value.get("payload"))
    return Envelope(_text(value.get("payloadType")), payload, tuple(map(_signature, signatures)))


def envelopes_in(data: bytes) -> list[Envelope]:
    """From an envelope, a list of them, or what a server tells of a dataset.

    Raises:
        MalformedInput: it is none of these.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise MalformedInput("that is no attestation", expected="JSON of a DSSE envelope, or a list of them") from None
    if isinstance(value, dict) and isinstance(value.get(_LIST), list):
        value = [each.get("envelope") if isinstance(each, dict) else each for each in value[_LIST]]
    return [envelope_of(each) for each in (value if isinstance(value, list) else [value])]


def _signature(value: Any) -> Signature:
    if not isinstance(value, dict):
        raise _malformed("a signature that is no object")
    return Signature(_text(value.get("keyid") or ""), _decoded(value.get("sig")))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _malformed("a field that is no text")
    return value


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decoded(value: Any) -> bytes:
    """Both alphabets of base64 are taken, as the specification asks for; bits that mean nothing are not."""
    text = _text(value).translate(_STANDARD)
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        decoded = None
    if decoded is None or _encoded(decoded) != text:
        raise _malformed("a field that is no base64")
    return decoded


_STANDARD = str.maketrans("-_", "+/")


def _malformed(found: str) -> MalformedInput:
    return MalformedInput("that is no DSSE envelope", expected="payload, payloadType and signatures", found=found)
