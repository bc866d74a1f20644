"""Unsigned LEB128 as multiformats uses it: minimal length, at most nine bytes (unsigned-varint specification)."""

from __future__ import annotations

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.limits import VARINT_BYTES_MAX


def encode_varint(value: int) -> bytes:
    """The shortest encoding of ``value``, which must not be negative."""
    if value < 0:
        raise ValueError(f"a varint cannot hold {value}")
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_varint(data: bytes, position: int = 0) -> tuple[int, int]:
    """The value at ``position`` and the position behind it.

    Raises:
        MalformedIdentifier: truncated, longer than nine bytes, or not minimal.
    """
    value = 0
    for count in range(VARINT_BYTES_MAX):
        if position + count >= len(data):
            raise MalformedIdentifier("varint ends in the middle")
        byte = data[position + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            if byte == 0 and count > 0:
                raise MalformedIdentifier("varint is longer than it needs to be")
            return value, position + count + 1
    raise MalformedIdentifier("varint is longer than nine bytes")
