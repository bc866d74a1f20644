"""Messages of the engine protocol as bytes: FlatBuffers, and the gRPC messages around them (spec: Engine Contract).

Nothing here depends on the exact bytes: any valid FlatBuffer of the type is read. Every gRPC message of the protocol
has one field, number 1, that holds a FlatBuffer.
"""

from __future__ import annotations

from typing import Final, TypeVar

from opendatafabric.codec.flatbuffers_read import NewerContent, read_table
from opendatafabric.codec.flatbuffers_write import write_table
from opendatafabric.errors import LimitExceeded, MalformedDag, MalformedInput, ProtocolViolation, UnsupportedVersion
from opendatafabric.ipfs.protobuf import as_bytes, bytes_field, read_fields
from opendatafabric.limits import MESSAGE_BYTES_MAX
from opendatafabric.metadata.engine_messages import EngineMessage

_FLATBUFFER: Final = 1
M = TypeVar("M", bound=EngineMessage)


def encode_message(message: EngineMessage) -> bytes:
    """The finished buffer of a message."""
    return write_table(message)


def decode_message(data: bytes, kind: type[M]) -> M:
    """The message in ``data``, whose type only the caller can know.

    Raises:
        ProtocolViolation: not such a message.
        UnsupportedVersion: a response or transform of a kind this version does not know.
        LimitExceeded: over ``MESSAGE_BYTES_MAX``.
    """
    if len(data) > MESSAGE_BYTES_MAX:
        raise LimitExceeded("message is too large", expected=f"at most {MESSAGE_BYTES_MAX} bytes", found=len(data))
    try:
        message: M = read_table(data, kind)
    except NewerContent as newer:
        raise UnsupportedVersion(f"{kind.__name__} holds {newer}, which this version does not know") from None
    except MalformedInput as error:
        raise ProtocolViolation(f"{kind.__name__} cannot be read: {error.message}", hint=error.hint) from None
    return message


def encode_grpc(message: EngineMessage) -> bytes:
    """The gRPC message that carries ``message``."""
    return bytes_field(_FLATBUFFER, encode_message(message))


def decode_grpc(data: bytes, kind: type[M]) -> M:
    """The message that the gRPC message ``data`` carries; errors as ``decode_message``.

    As everywhere in Protocol Buffers, of a field that is there twice the last one counts, and others are passed over.
    """
    try:
        found = [as_bytes(value) for number, value in read_fields(data) if number == _FLATBUFFER]
    except MalformedDag as error:
        raise ProtocolViolation(f"the gRPC message around {kind.__name__} cannot be read: {error.message}") from None
    return decode_message(found[-1] if found else b"", kind)
