"""Multibase text: which characters stand for which bytes (multibase specification).

Decoding is strict: no padding where the base has none, no unused bits set, no characters of another alphabet. libipld
decodes where it is installed; the same in plain Python lies beside it, and tests hold the two equal. Hashes on hot
paths are base16 and never come here; see ``Multihash.from_text``.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.limits import IDENTIFIER_CHARS_MAX

try:
    from libipld import decode_multibase as _decode_natively
except ImportError:
    NATIVE = False
else:
    NATIVE = True

REFERENCE_BASES: Final = frozenset("fFuz")
"""What the reference reads in hashes and DIDs: base16 (both cases), base64url, base58btc."""

FINAL_BASES: Final = REFERENCE_BASES | frozenset("bBmU")
"""Every base whose status in the multibase table is "final": adds base32 (both cases), base64, base64urlpad."""

CID_BASES: Final = frozenset("bBfFkKz")
"""What IPFS writes CIDs in: base32 and base16 (both cases), base36 (both cases; names of IPNS), base58btc."""

_BASE36: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def decode_multibase(text: str, bases: frozenset[str] = REFERENCE_BASES) -> bytes:
    """The bytes behind ``text``, whose first character names the base.

    Raises:
        MalformedIdentifier: empty, over ``IDENTIFIER_CHARS_MAX``, a base not in ``bases``, not strictly in that base.
    """
    if not text or len(text) > IDENTIFIER_CHARS_MAX:
        raise MalformedIdentifier(
            "multibase text is empty or too long", expected=f"1 to {IDENTIFIER_CHARS_MAX} characters", found=len(text)
        )
    if text[0] not in bases:
        raise MalformedIdentifier(
            f"{text[:100]!r} is in no supported multibase",
            expected=f"one of {' '.join(sorted(bases))} in front",
            found=repr(text[0]),
        )
    try:
        return _decode_natively(text)[1] if NATIVE else decode_plainly(text)
    except ValueError:
        raise MalformedIdentifier(f"{text[:100]!r} is not strict multibase {text[0]!r}") from None


def decode_plainly(text: str) -> bytes:
    """What ``decode_multibase`` does without libipld, for final bases and those of CIDs; ValueError if malformed."""
    if not text.isascii():
        raise ValueError(text)
    return _DECODERS[text[0]](text[1:])


def encode_base16(data: bytes) -> str:
    """``f`` and lower-case hex: the canonical form of ODF (RFC-012)."""
    return "f" + data.hex()


def encode_base32(data: bytes) -> str:
    """``b`` and lower-case base32 without padding: the form of CIDs."""
    return "b" + base64.b32encode(data).decode().rstrip("=").lower()


def encode_base58btc(data: bytes) -> str:
    """``z`` and base58 in Bitcoin's alphabet: the form of ``did:key``."""
    return "z" + _digits(data, _BASE58)


def encode_base36(data: bytes) -> str:
    """``k`` and lower-case base36: the form of IPNS names."""
    return "k" + _digits(data, _BASE36)


def encode_base64url(data: bytes) -> str:
    """``u`` and URL-safe base64 without padding."""
    return "u" + base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode_base16(text: str) -> bytes:
    if text and not text.isalnum():  # bytes.fromhex would skip blanks
        raise ValueError(text)
    return bytes.fromhex(text)


def _decode_base32(text: str) -> bytes:
    decoded = base64.b32decode(text + "=" * (-len(text) % 8), casefold=True)
    return _unless_loose(decoded, encode_base32(decoded)[1:], text.lower())


def _decode_base36(text: str) -> bytes:
    return _number(text.lower(), _BASE36)


def _decode_base58(text: str) -> bytes:
    return _number(text, _BASE58)


def _digits(data: bytes, alphabet: str) -> str:
    # The bytes as one number; zeros in front, which a number does not have, are written one by one.
    number = int.from_bytes(data, "big")
    digits = ""
    while number:
        number, digit = divmod(number, len(alphabet))
        digits = alphabet[digit] + digits
    return alphabet[0] * (len(data) - len(data.lstrip(b"\0"))) + digits


def _number(text: str, alphabet: str) -> bytes:
    number = 0
    for character in text:
        number = number * len(alphabet) + alphabet.index(character)  # ValueError for one that is not in it
    zeros = len(text) - len(text.lstrip(alphabet[0]))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def _decode_base64(text: str) -> bytes:
    decoded = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    return _unless_loose(decoded, base64.b64encode(decoded).decode().rstrip("="), text)


def _decode_base64url(text: str) -> bytes:
    decoded = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    return _unless_loose(decoded, encode_base64url(decoded)[1:], text)


def _decode_base64urlpad(text: str) -> bytes:
    decoded = base64.b64decode(text, altchars=b"-_", validate=True)
    return _unless_loose(decoded, base64.urlsafe_b64encode(decoded).decode(), text)


def _unless_loose(decoded: bytes, encoded_again: str, text: str) -> bytes:
    # Unused bits and surplus padding, which the standard library passes over, do not come back when encoding again.
    if encoded_again != text:
        raise ValueError(text)
    return decoded


_DECODERS: Final[dict[str, Callable[[str], bytes]]] = {
    "f": _decode_base16,
    "F": _decode_base16,
    "b": _decode_base32,
    "B": _decode_base32,
    "k": _decode_base36,
    "K": _decode_base36,
    "z": _decode_base58,
    "m": _decode_base64,
    "u": _decode_base64url,
    "U": _decode_base64urlpad,
}
