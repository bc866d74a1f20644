"""JSON text ↔ message, given which message is expected: on the wire only the place in the talk says how to read.

Packs of blocks travel as arrays of byte values, which would cost tens of times their size as Python numbers; they are
cut out of the text and turned piece by piece. Everything is bounded before it is parsed.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final, TypeVar

import orjson
from pydantic import ValidationError

from opendatafabric.errors import LimitExceeded, MalformedIdentifier, ProtocolViolation
from opendatafabric.limits import MESSAGE_BYTES_MAX, MESSAGE_VALUES_MAX
from sync.smart.messages import Message, PullMetadata, PushMetadata, Refused

M = TypeVar("M", bound=Message)

_PAYLOAD: Final = re.compile(r'"payload"\s*:\s*\[([0-9,\s]*)\]')
_PIECE_CHARS: Final = 256 * 1024
_PIECE_BYTES: Final = 64 * 1024
_STAND_IN: Final = b'"payload":""'


def write_message(message: Message) -> str:
    """The text of ``message``; absent optionals are ``null``, as the reference writes them."""
    if isinstance(message, PushMetadata):
        return _with_payload(message, message.new_blocks.payload, message.new_blocks.encoding)
    if isinstance(message, PullMetadata):
        return _with_payload(message, message.blocks.payload, message.blocks.encoding)
    return _dump(message).decode()


def read_message(text: str, expected: type[M]) -> M:
    """``text`` as the message that is due.

    Raises:
        LimitExceeded: over ``MESSAGE_BYTES_MAX`` or ``MESSAGE_VALUES_MAX``.
        ProtocolViolation: not that message; the error names the field. An ``Err`` that nobody could read is one too,
            as it would pass for the empty messages.
    """
    if len(text) > MESSAGE_BYTES_MAX:
        raise LimitExceeded("message is too long", expected=f"at most {MESSAGE_BYTES_MAX} bytes", found=len(text))
    return _validated(_parsed(text, expected), expected)


def read_refusal(text: str) -> Refused | None:
    """``text`` as ``{"Err": …}``, or ``None`` when it is something else."""
    try:
        value = orjson.loads(text)
        return Refused.model_validate(value) if isinstance(value, dict) and "Err" in value else None
    except (orjson.JSONDecodeError, ValidationError, MalformedIdentifier):
        return None


def _parsed(text: str, expected: type[M]) -> Any:
    pack, rest = None, text
    if issubclass(expected, PushMetadata | PullMetadata) and (found := _PAYLOAD.search(text)) is not None:
        pack = _bytes_of(text, *found.span(1), expected)
        rest = f'{text[: found.start()]}"payload":""{text[found.end() :]}'
    values = rest.count(",") + rest.count("[") + rest.count("{")
    if values > MESSAGE_VALUES_MAX:
        raise LimitExceeded("message holds too many values", expected=f"at most {MESSAGE_VALUES_MAX}", found=values)
    try:
        value = orjson.loads(rest)
    except orjson.JSONDecodeError as error:
        raise ProtocolViolation(f"message is not JSON: {error}", expected=expected.__name__) from None
    if issubclass(expected, PushMetadata | PullMetadata):
        _put_payload(value, "new_blocks" if expected is PushMetadata else "blocks", pack, expected)
    return value


def _validated(value: Any, expected: type[M]) -> M:
    if not isinstance(value, dict):
        raise ProtocolViolation("message is no JSON object", expected=expected.__name__, found=type(value).__name__)
    if "Err" in value and expected is not Refused:
        raise ProtocolViolation("the peer refused for a reason that cannot be read", expected=expected.__name__)
    try:
        return expected.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ProtocolViolation(f"{field or 'message'}: {first['msg']}", expected=expected.__name__) from None
    except MalformedIdentifier as error:
        raise ProtocolViolation(
            f"message names something malformed: {error.message}", expected=expected.__name__
        ) from None


def _put_payload(value: Any, name: str, pack: bytes | None, expected: type[Message]) -> None:
    batch = value.get(name) if isinstance(value, dict) else None
    if not isinstance(batch, dict):
        return
    if pack is None:
        pack = _from_base64(batch, expected)
    elif batch.get("encoding") != "raw":
        raise ProtocolViolation("a payload of byte values has encoding 'raw'", expected=expected.__name__)
    batch["payload"] = pack


def _from_base64(batch: dict[str, Any], expected: type[Message]) -> bytes:
    payload = batch.get("payload")
    if batch.get("encoding") != "base64" or not isinstance(payload, str):
        raise ProtocolViolation("payload is neither byte values nor base64", expected=expected.__name__)
    try:
        return binascii.a2b_base64(payload, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise ProtocolViolation(f"payload is not base64: {error}", expected=expected.__name__) from None


def _bytes_of(text: str, start: int, end: int, expected: type[Message]) -> bytes:
    pack = bytearray()
    while start <= end:
        cut = text.find(",", start + _PIECE_CHARS, end)
        cut = end if cut < 0 else cut
        pack += _piece(text[start:cut], expected)
        start = cut + 1
    return bytes(pack)


def _piece(numbers: str, expected: type[Message]) -> bytes:
    try:
        piece = bytes(orjson.loads(f"[{numbers}]"))
    except (orjson.JSONDecodeError, ValueError, TypeError):
        raise ProtocolViolation("payload holds something that is no byte", expected=expected.__name__) from None
    if not piece:
        raise ProtocolViolation("payload is empty, or has a comma too many", expected=expected.__name__)
    return piece


def _dump(message: Message) -> bytes:
    if isinstance(message, Refused):
        return orjson.dumps(message.model_dump(exclude_unset=True))
    return orjson.dumps(message.model_dump())


def _with_payload(message: Message, payload: bytes, encoding: str) -> str:
    value = message.model_dump()
    next(iter(value.values()))["payload"] = ""
    before, _, after = orjson.dumps(value).partition(_STAND_IN)
    return b"".join((before, b'"payload":', *_payload_pieces(payload, encoding), after)).decode()


def _payload_pieces(payload: bytes, encoding: str) -> list[bytes]:
    if encoding == "base64":
        return [b'"', base64.b64encode(payload), b'"']
    starts = range(0, len(payload), _PIECE_BYTES)
    numbers = b",".join(orjson.dumps(list(payload[start : start + _PIECE_BYTES]))[1:-1] for start in starts)
    return [b"[", numbers, b"]"]
