"""Access tokens as text: ``ka_`` and 58 characters of Crockford base32 (the form of the reference).

36 bytes: the token's UUID, 16 random bytes, CRC-32 of those. The server keeps the UUID and the sha3-256 of the random
bytes, so that what it holds opens nothing.
"""

from __future__ import annotations

import hashlib
import re
import uuid
import zlib
from dataclasses import dataclass
from typing import Final

from opendatafabric.errors import AuthenticationRequired

PREFIX: Final = "ka_"
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALUE: Final = {character: value for value, character in enumerate(_ALPHABET)} | {"O": 0, "I": 1, "L": 1}
_TEXT: Final = re.compile(r"ka_[0-9a-zA-Z]{58}", re.ASCII | re.IGNORECASE)
_BYTES: Final = 36
_SPARE_BITS: Final = 58 * 5 - _BYTES * 8


@dataclass(frozen=True, slots=True)
class TokenParts:
    """What a token is made of; ``secret`` never leaves the process but inside the text."""

    id: bytes
    secret: bytes

    @property
    def secret_hash(self) -> bytes:
        """What the server keeps."""
        return hashlib.sha3_256(self.secret).digest()

    @property
    def token_id(self) -> str:
        """What the token is called where it is listed."""
        return str(uuid.UUID(bytes=self.id))

    def __repr__(self) -> str:
        return f"TokenParts(id={self.id.hex()})"


def token_text(parts: TokenParts) -> str:
    """The text to hand out, once."""
    data = parts.id + parts.secret + zlib.crc32(parts.secret).to_bytes(4, "big")
    number = int.from_bytes(data, "big") << _SPARE_BITS
    return PREFIX + "".join(_ALPHABET[number >> shift & 31] for shift in range(285, -1, -5))


def parse_token(text: str) -> TokenParts:
    """Read a token, in any case.

    Raises:
        AuthenticationRequired: not such a text, or its check sum is wrong.
    """
    if _TEXT.fullmatch(text) is None:
        raise _invalid()
    number = 0
    for character in text[len(PREFIX) :].upper():
        if character not in _VALUE:
            raise _invalid()
        number = number << 5 | _VALUE[character]
    data = (number >> _SPARE_BITS).to_bytes(_BYTES, "big")
    if number & ((1 << _SPARE_BITS) - 1) or zlib.crc32(data[16:32]) != int.from_bytes(data[32:], "big"):
        raise _invalid()
    return TokenParts(data[:16], data[16:32])


def _invalid() -> AuthenticationRequired:
    return AuthenticationRequired("Authentication token invalid")
