"""The key document: which keys a node has signed with and when, as everybody may read it. A JSON Web Key Set (RFC 7517,
RFC 8037) whose keys are called by their ``did:key``, with the times between which their signatures count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import orjson

from opendatafabric.attestation.keys import PublicKey
from opendatafabric.errors import LimitExceeded, MalformedIdentifier, MalformedInput
from opendatafabric.instant import Instant
from opendatafabric.limits import ATTESTATIONS_BYTES_MAX
from opendatafabric.multibase import decode_multibase, encode_base64url

KEYS_PATH: Final = "/.well-known/odf-attestation-keys"
CLOCK_SKEW_S: Final = 60
"""How far apart the clocks of a worker and of whoever published its key may be."""

_BASE64URL: Final = "u"


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A key and when its signatures count; without times, always."""

    key: PublicKey
    valid_from: Instant | None = None
    valid_until: Instant | None = None

    def counts_at(self, moment: Instant) -> bool:
        """Whether what it signed at that time counts."""
        early, late = _shifted(moment, CLOCK_SKEW_S), _shifted(moment, -CLOCK_SKEW_S)
        return (self.valid_from is None or self.valid_from <= early) and (
            self.valid_until is None or late <= self.valid_until
        )

    def as_dict(self) -> dict[str, Any]:
        """As a JSON Web Key."""
        return {
            "kty": "OKP",
            "crv": "Ed25519",
            "alg": "EdDSA",
            "use": "sig",
            "kid": self.key.did,
            "x": encode_base64url(self.key.raw)[1:],
            "validFrom": None if self.valid_from is None else str(self.valid_from),
            "validUntil": None if self.valid_until is None else str(self.valid_until),
        }


def key_document(keys: Iterable[TrustedKey]) -> dict[str, Any]:
    """The document over ``keys``."""
    return {"keys": [key.as_dict() for key in keys]}


def read_key_document(data: bytes) -> list[TrustedKey]:
    """The Ed25519 keys of a document; others are passed over.

    Raises:
        MalformedInput: it is none.
        LimitExceeded: it is too long.
    """
    if len(data) > ATTESTATIONS_BYTES_MAX:
        raise LimitExceeded("a key document is too long", expected=ATTESTATIONS_BYTES_MAX, found=len(data))
    try:
        keys = orjson.loads(data)["keys"]
        return [_read(key) for key in keys if key.get("crv") == "Ed25519"]
    except (KeyError, TypeError, AttributeError, ValueError, MalformedIdentifier) as error:
        raise MalformedInput(f"that is no key document: {type(error).__name__}", expected='{"keys": […]}') from None


def _read(key: dict[str, Any]) -> TrustedKey:
    public = PublicKey(decode_multibase(_BASE64URL + key["x"]))
    return TrustedKey(public, _time(key.get("validFrom")), _time(key.get("validUntil")))


def _time(text: str | None) -> Instant | None:
    return None if text is None else Instant.from_rfc3339(text)


def _shifted(moment: Instant, seconds: int) -> Instant:
    try:
        return Instant.from_datetime(moment.to_datetime() + timedelta(seconds=seconds))
    except OverflowError:
        raise MalformedInput(f"the time {moment} is at the end of the calendar") from None
