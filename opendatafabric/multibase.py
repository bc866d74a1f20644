"""Multibase text: which characters stand for which bytes (multibase specification).

Decoding is strict: no padding where the base has none, no unused bits set, no characters of another alphabet. Hashes on
hot paths are base16 and never come here; see ``Multihash.from_text``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Final

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.limits import IDENTIFIER_CHARS_MAX

REFERENCE_BASES: Final = frozenset("fFuz")
"""What the reference reads in hashes and DIDs: base16 (both cases), base64url, base58btc."""

FINAL_BASES: Final = REFERENCE_BASES | frozenset("bBmU")
"""Every base whose status in the multibase table is "final": adds base32 (both cases), base64, base64urlpad."""

_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BASE58_VALUE: Final = {character: value for value, character in enumerate(_BASE58)}


def decode_multibase(text: str, bases: frozenset[str] = REFERENCE_BASES) -> bytes:
    """The bytes behind ``text``, whose first character names the base.

    Raises:
        MalformedIdentifier: empty, over ``IDENTIFIER_CHARS_MAX``, a base not in ``bases``, or not strictly in that base.
    """
    if not text or len(text) > IDENTIFIER_CHARS_MAX:
        raise MalformedIdentifier(
            "multibase text must have a length within bounds", expected=f"1 to {IDENTIFIER_CHARS_MAX}", found=len(text)
        )
    if text[0] not in bases:
        raise MalformedIdentifier(f"multibase {text[0]!r} is not supported", expected=f"one of {''.join(sorted(bases))}")
    try:
        return _DECODERS[text[0]](text[1:])
    except (ValueError, KeyError):
        raise MalformedIdentifier(f"{text[:100]!r} is not strict multibase {text[0]!r}") from None


def encode_base16(data: bytes) -> str:
    """``f`` and lower-case hex: the canonical form of ODF (RFC-012)."""
    return "f" + data.hex()


def encode_base32(data: bytes) -> str:
    """``b`` and lower-case base32 without padding: the form of CIDs."""
    return "b" + base64.b32encode(data).decode().rstrip("=").lower()


def encode_base58btc(data: bytes) -> str:
    """``z`` and base58 in Bitcoin's alphabet: the form of ``did:key``."""
    number = int.from_bytes(data, "big")
    digits = ""
    while number:
        number, digit = divmod(number, 58)
        digits = _BASE58[digit] + digits
    return "z" + "1" * (len(data) - len(data.lstrip(b"\0"))) + digits


def encode_base64url(data: bytes) -> str:
    """``u`` and URL-safe base64 without padding."""
    return "u" + base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode_hex(text: str) -> bytes:
    if not text.isalnum():  # bytes.fromhex would skip blanks
        if text:
            raise ValueError(text)
        return b""
    return bytes.fromhex(text)


def _decode_base58(text: str) -> bytes:
    number = 0
    for character in text:
        number = number * 58 + _BASE58_VALUE[character]
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def _strict(decoded: bytes, encode: Callable[[bytes], str], text: str) -> bytes:
    # Re-encoding finds set trailing bits, which the standard decoders pass over.
    if encode(decoded)[1:] != text:
        raise ValueError(text)
    return decoded


def _decode_base32(text: str) -> bytes:
    decoded = base64.b32decode(text.upper() + "=" * (-len(text) % 8))
    return _strict(decoded, encode_base32, text)


def _decode_base64url(text: str) -> bytes:
    decoded = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    return _strict(decoded, encode_base64url, text)


def _decode_base64(text: str) -> bytes:
    decoded = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    return _strict(decoded, lambda data: "m" + binascii.b2a_base64(data, newline=False).decode().rstrip("="), text)


def _decode_base64urlpad(text: str) -> bytes:
    decoded = base64.b64decode(text, altchars=b"-_", validate=True)
    return _strict(decoded, lambda data: "U" + base64.urlsafe_b64encode(data).decode(), text)


def _upper_only(decode: Callable[[str], bytes]) -> Callable[[str], bytes]:
    def decode_upper(text: str) -> bytes:
        if text != text.upper():
            raise ValueError(text)
        return decode(text.lower())

    return decode_upper


_DECODERS: Final[dict[str, Callable[[str], bytes]]] = {
    "f": _decode_hex,
    "F": _decode_hex,
    "b": _decode_base32,
    "B": _upper_only(_decode_base32),
    "z": _decode_base58,
    "m": _decode_base64,
    "u": _decode_base64url,
    "U": _decode_base64urlpad,
}
