"""Messages of the engine protocol as bytes: what goes into the one field of each gRPC message (spec: Engine Contract).

Nothing here depends on the exact bytes: any valid FlatBuffer of the type is read.
"""

from __future__ import annotations

from typing import TypeVar

from opendatafabric.codec.flatbuffers_read import NewerContent, read_table
from opendatafabric.codec.flatbuffers_write import write_table
from opendatafabric.errors import LimitExceeded, MalformedInput, ProtocolViolation, UnsupportedVersion
from opendatafabric.limits import MESSAGE_BYTES_MAX
from opendatafabric.metadata.engine_messages import EngineMessage

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
