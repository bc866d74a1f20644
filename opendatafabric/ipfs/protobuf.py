"""Just enough Protocol Buffers for the three messages of IPFS used here: fields one after another, written and read.

Reading is strict where IPFS is: numbers in their shortest form, no groups, nothing that reaches beyond the message.
"""

from __future__ import annotations

from collections.abc import Iterator

from opendatafabric.errors import MalformedDag, MalformedIdentifier
from opendatafabric.varint import decode_varint, encode_varint

_VARINT = 0
_BYTES = 2


def number_field(number: int, value: int) -> bytes:
    """A field that holds a number."""
    return encode_varint(number << 3 | _VARINT) + encode_varint(value)


def bytes_field(number: int, value: bytes) -> bytes:
    """A field that holds bytes, text or a message."""
    return encode_varint(number << 3 | _BYTES) + encode_varint(len(value)) + value


def read_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and values of the fields in their order.

    Raises:
        MalformedDag: truncated, or of a wire type that these messages do not use.
    """
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        number, wire_type = tag >> 3, tag & 7
        value, position = _varint(message, position)
        if wire_type == _VARINT:
            yield number, value
        elif wire_type == _BYTES:
            yield number, _slice(message, position, value)
            position += value
        else:
            raise MalformedDag(f"field {number} has wire type {wire_type}", expected="0 or 2", found=wire_type)


def as_number(value: int | bytes) -> int:
    """The value of a field that must be a number; ``MalformedDag`` otherwise."""
    if isinstance(value, int):
        return value
    raise MalformedDag("a field that holds a number holds bytes")


def as_bytes(value: int | bytes) -> bytes:
    """The value of a field that must be bytes; ``MalformedDag`` otherwise."""
    if isinstance(value, bytes):
        return value
    raise MalformedDag("a field that holds bytes holds a number")


def _varint(message: bytes, position: int) -> tuple[int, int]:
    try:
        return decode_varint(message, position)
    except MalformedIdentifier as error:
        raise MalformedDag(f"at byte {position}: {error.message}") from None


def _slice(message: bytes, position: int, length: int) -> bytes:
    if length > len(message) - position:
        raise MalformedDag("a field reaches beyond its message", expected=length, found=len(message) - position)
    return message[position : position + length]
