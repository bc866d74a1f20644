"""CIDs: the names of IPFS for blocks. A multihash and what its block is, in several text forms (CID specification).

Every physical hash of ODF is the hash of a raw block, so each object and metadata block has a CID that costs nothing:
``cid_of_object``. Hashes that are neither sha2-256 nor sha3-256 are refused, since nobody here can check them; the
identity hash is read for the tiny blocks that a CID holds itself.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from opendatafabric.errors import HashMismatch, MalformedIdentifier
from opendatafabric.limits import IDENTIFIER_CHARS_MAX
from opendatafabric.multibase import (
    CID_BASES,
    decode_multibase,
    encode_base16,
    encode_base32,
    encode_base36,
    encode_base58btc,
)
from opendatafabric.multihash import HashCodec, Multihash
from opendatafabric.varint import decode_varint, encode_varint


class Codec(IntEnum):
    """What the block behind a CID is."""

    RAW = 0x55
    DAG_PB = 0x70
    DAG_CBOR = 0x71
    LIBP2P_KEY = 0x72
    """No block: a name of IPNS."""


class HashFunction(IntEnum):
    """How the block was hashed."""

    IDENTITY = 0x00
    """Not at all: the digest is the block."""
    SHA2_256 = 0x12
    SHA3_256 = 0x16


DIGEST_BYTES: Final = 32
IDENTITY_BYTES_MAX: Final = 128
"""Longest block inside its CID, as in boxo."""

_V0_PREFIX: Final = bytes([HashFunction.SHA2_256, DIGEST_BYTES])
_V0_BYTES: Final = len(_V0_PREFIX) + DIGEST_BYTES
_COMMON: Final = {
    bytes((1, codec, HashFunction.SHA2_256, DIGEST_BYTES)): (codec, HashFunction.SHA2_256)
    for codec in (Codec.RAW, Codec.DAG_PB)
}
"""How nearly every CID in a folder begins, so that those are read at a glance."""

_V0_CHARS: Final = 46
_HASHERS: Final = {HashFunction.SHA2_256: hashlib.sha256, HashFunction.SHA3_256: hashlib.sha3_256}


@dataclass(frozen=True, slots=True, order=True)
class Cid:
    """``version`` is 1, or 0 for the old form ``Qm…`` of dag-pb with sha2-256."""

    codec: Codec
    function: HashFunction
    digest: bytes
    version: int = 1

    @classmethod
    def from_bytes(cls, data: bytes) -> Cid:
        """Read the binary form; errors as in ``read_cid``, and for bytes left over."""
        found, position = read_cid(data)
        if position != len(data):
            raise MalformedIdentifier("a CID is followed by more bytes", expected=position, found=len(data))
        return found

    @classmethod
    def from_text(cls, text: str) -> Cid:
        """Read ``bafy…``, ``f0155…``, ``k51…``, ``z…`` or ``Qm…``.

        Raises:
            MalformedIdentifier: another base, or no CID inside.
        """
        if len(text) == _V0_CHARS and text.startswith("Qm"):
            return cls.from_bytes(decode_multibase("z" + text, CID_BASES))
        found = cls.from_bytes(decode_multibase(text, CID_BASES))
        if found.version == 0:
            raise MalformedIdentifier("a CIDv0 has no multibase prefix", expected="Qm…", found=repr(text[:100]))
        return found

    @property
    def text(self) -> str:
        """Canonical: base32, or for version 0 base58 without a prefix."""
        return encode_base58btc(bytes(self))[1:] if self.version == 0 else encode_base32(bytes(self))

    @property
    def base16(self) -> str:
        """``f01551620…``: shows the hash of ODF."""
        return encode_base16(bytes(self))

    @property
    def base36(self) -> str:
        """``k51…``: how IPNS names are written."""
        return encode_base36(bytes(self))

    @property
    def multihash(self) -> Multihash | None:
        """The physical hash that this CID says, if it is one."""
        is_physical = self.codec is Codec.RAW and self.function is HashFunction.SHA3_256
        return Multihash(HashCodec.SHA3_256, self.digest) if is_physical else None

    def matches(self, block: bytes | bytearray | memoryview) -> bool:
        """Whether ``block`` is the one that the CID names."""
        if self.function is HashFunction.IDENTITY:
            return block == self.digest
        return _HASHERS[self.function](block).digest() == self.digest

    def check(self, block: bytes | bytearray | memoryview) -> None:
        """Raises ``HashMismatch`` when ``block`` is another one."""
        if not self.matches(block):
            raise HashMismatch(f"a block is not the one that {self} names", hint="fetch it from another gateway")

    def __bytes__(self) -> bytes:
        hashed = encode_varint(self.function) + encode_varint(len(self.digest)) + self.digest
        return hashed if self.version == 0 else b"\x01" + encode_varint(self.codec) + hashed

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes and their CID; whoever made the pair has checked it."""

    cid: Cid
    data: bytes


def cid_of_block(
    data: bytes | bytearray | memoryview,
    codec: Codec = Codec.RAW,
    function: HashFunction = HashFunction.SHA2_256,
) -> Cid:
    """The CIDv1 of a block."""
    return Cid(codec, function, _HASHERS[function](data).digest())


def cid_of_object(physical_hash: Multihash) -> Cid:
    """The CID that follows from a physical hash: the whole object as one raw block."""
    if physical_hash.codec is not HashCodec.SHA3_256 or len(physical_hash.digest) != DIGEST_BYTES:
        raise MalformedIdentifier(f"{physical_hash} is no physical hash", expected="sha3-256")
    return Cid(Codec.RAW, HashFunction.SHA3_256, physical_hash.digest)


def read_cid(data: bytes, position: int = 0) -> tuple[Cid, int]:
    """The CID at ``position`` and the position behind it.

    Raises:
        MalformedIdentifier: truncated, or a version, codec or hash function that is not known here.
    """
    if data[position : position + 2] == _V0_PREFIX:
        end = position + _V0_BYTES
        digest = _digest(data, position + 2, DIGEST_BYTES)
        return Cid(Codec.DAG_PB, HashFunction.SHA2_256, digest, 0), end
    common = _COMMON.get(data[position : position + 4])
    if common is not None:
        return Cid(*common, _digest(data, position + 4, DIGEST_BYTES)), position + 4 + DIGEST_BYTES
    version, position = decode_varint(data, position)
    if version != 1:
        raise MalformedIdentifier("a CID is of an unknown version", expected="0 or 1", found=version)
    code, position = decode_varint(data, position)
    function_code, position = decode_varint(data, position)
    length, position = decode_varint(data, position)
    codec, function = _codec(code), _function(function_code)
    _check_length(function, length)
    return Cid(codec, function, _digest(data, position, length)), position + length


def is_cid_text(text: str) -> bool:
    """Whether ``text`` is a CID that can be read here."""
    try:
        return len(text) <= IDENTIFIER_CHARS_MAX and bool(Cid.from_text(text))
    except MalformedIdentifier:
        return False


def _codec(code: int) -> Codec:
    try:
        return Codec(code)
    except ValueError:
        raise MalformedIdentifier(
            f"CIDs of codec {code:#x} are not supported", expected="raw (0x55) or dag-pb (0x70)"
        ) from None


def _function(code: int) -> HashFunction:
    try:
        return HashFunction(code)
    except ValueError:
        raise MalformedIdentifier(
            f"CIDs with hash function {code:#x} are not supported", expected="sha2-256 (0x12) or sha3-256 (0x16)"
        ) from None


def _check_length(function: HashFunction, length: int) -> None:
    fits = length <= IDENTITY_BYTES_MAX if function is HashFunction.IDENTITY else length == DIGEST_BYTES
    if not fits:
        raise MalformedIdentifier("the digest of a CID has the wrong length", expected=DIGEST_BYTES, found=length)


def _digest(data: bytes, position: int, length: int) -> bytes:
    found = bytes(data[position : position + length])
    if len(found) != length:
        raise MalformedIdentifier("a CID ends in the middle", expected=length, found=len(found))
    return found
