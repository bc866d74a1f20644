"""Multihash: a digest that names its algorithm, and the physical hash of bytes.

Follows the multihash specification and ODF's choice of codes (spec: Hash Representation; RFC-012 for base16 in text).
Hashing of records (``arrow0-sha3-256``) lives in ``data/logical_hash.py``; only its code is known here.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final, TypeAlias

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.limits import DIGEST_BYTES_MAX
from opendatafabric.multibase import REFERENCE_BASES, decode_multibase
from opendatafabric.multicodec import Multicodec
from opendatafabric.varint import decode_varint, encode_varint

HashCodec: TypeAlias = Multicodec
"""What a hash may say it is. Only the three digests make sense; the reference reads its whole table here, so do we."""

_PREFIX: Final = {codec: encode_varint(codec) for codec in HashCodec}
_SHA3_TEXT_PREFIX: Final = "f1620"
_SHA3_TEXT_CHARS: Final = 69
_SHA3_PREFIX: Final = b"\x16\x20"
_SHA3_BYTES: Final = 34


@dataclass(frozen=True, slots=True)
class Multihash:
    """A digest of at most 32 bytes and the codec it was made with."""

    codec: HashCodec
    digest: bytes

    def __str__(self) -> str:
        """Canonical text: multibase base16, lower case (``f1620…``)."""
        if self.codec is HashCodec.SHA3_256 and len(self.digest) == DIGEST_BYTES_MAX:
            return _SHA3_TEXT_PREFIX + self.digest.hex()
        return "f" + bytes(self).hex()

    def __bytes__(self) -> bytes:
        """Binary form: varint code, varint length, digest."""
        return _PREFIX[self.codec] + encode_varint(len(self.digest)) + self.digest

    @property
    def short(self) -> str:
        """The last eight hex digits, for people."""
        return self.digest.hex()[-8:]

    @classmethod
    def from_bytes(cls, data: bytes) -> Multihash:
        """Read the binary form.

        Raises:
            MalformedIdentifier: unknown code, wrong length, digest over 32 bytes, bytes left over.
        """
        if len(data) == _SHA3_BYTES and data[:2] == _SHA3_PREFIX:
            return cls(HashCodec.SHA3_256, bytes(data[2:]))
        code, position = decode_varint(data)
        length, position = decode_varint(data, position)
        digest = bytes(data[position:])
        if length > DIGEST_BYTES_MAX or length != len(digest):
            raise MalformedIdentifier(
                "multihash digest has the wrong length",
                expected=f"{min(length, DIGEST_BYTES_MAX)} bytes",
                found=f"{len(digest)} bytes",
            )
        return cls(HashCodec.from_code(code), digest)

    @classmethod
    def from_text(cls, text: str, bases: frozenset[str] = REFERENCE_BASES) -> Multihash:
        """Read the text form; by default in the bases the reference reads (``f``, ``F``, ``u``, ``z``).

        Raises:
            MalformedIdentifier: not multibase, or no multihash inside.
        """
        if len(text) == _SHA3_TEXT_CHARS and text.startswith(_SHA3_TEXT_PREFIX) and text.isascii() and text.isalnum():
            try:
                return cls(HashCodec.SHA3_256, bytes.fromhex(text[len(_SHA3_TEXT_PREFIX) :]))
            except ValueError:
                pass  # the slow path below words the error
        return cls.from_bytes(decode_multibase(text, bases))


def physical_hash(data: bytes | bytearray | memoryview) -> Multihash:
    """sha3-256 over the bytes as they are: the name of blocks, slices and checkpoints."""
    return Multihash(HashCodec.SHA3_256, hashlib.sha3_256(data).digest())


def physical_name(data: bytes) -> str:
    """The text of ``physical_hash``, for loops that would make too many values of it."""
    return _SHA3_TEXT_PREFIX + hashlib.sha3_256(data).hexdigest()


class Hasher:
    """A physical hash taken piece by piece; counts the bytes as they pass."""

    __slots__ = ("_state", "size")

    def __init__(self) -> None:
        self._state = hashlib.sha3_256()
        self.size = 0

    def update(self, data: bytes | bytearray | memoryview) -> None:
        """Take the next piece. Frees the interpreter lock for pieces of 2 KiB and more."""
        self._state.update(data)
        self.size += data.nbytes if isinstance(data, memoryview) else len(data)

    def finish(self) -> Multihash:
        """The hash of all pieces so far; more pieces may follow."""
        return Multihash(HashCodec.SHA3_256, self._state.digest())
