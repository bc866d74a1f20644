"""What client, worker and engine say to each other: one JSON object a line.

A client says ``{"stamp", "job", "arguments", "foreign", "timeout_s"}``. It is answered by any number of
``{"waiting": text}`` and ``{"progress": {…}}``, then by one ``{"result": {…}}``, ``{"error": {…}}`` or, from a worker
that goes to make room for another, ``{"replaced": true}``. The worker passes the request on to the engine and its
answers back. Errors travel as their ``as_dict`` and come out as the same family.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from opendatafabric import errors
from opendatafabric.errors import ChainError, LimitExceeded, OdfError, ProtocolViolation
from opendatafabric.limits import WORKER_MESSAGE_BYTES_MAX

Message = dict[str, Any]


def encode(message: Message) -> bytes:
    """A line.

    Raises:
        LimitExceeded: too long for one; large things travel in files.
    """
    line = json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"
    if len(line) > WORKER_MESSAGE_BYTES_MAX:
        raise LimitExceeded(
            "a message of the Spark worker is too long", expected=f"at most {WORKER_MESSAGE_BYTES_MAX}", found=len(line)
        )
    return line


def decode(line: bytes) -> Message:
    """A message.

    Raises:
        ProtocolViolation: no line, or no JSON object on it.
    """
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise ProtocolViolation("the Spark worker and its client do not understand each other", found=line[:100])
    return message


def error_message(error: OdfError) -> Message:
    """The last message about a job that failed."""
    return {"error": error.as_dict()}


def error_of(told: Message) -> OdfError:
    """The error that was told, in the family of its code; unknown codes come out as the base."""
    family = next((family for family in _families(OdfError) if family.code == told.get("code")), OdfError)
    error = OdfError.__new__(family)
    OdfError.__init__(
        error,
        str(told.get("message")),
        expected=told.get("expected"),
        found=told.get("found"),
        hint=told.get("hint"),
    )
    if isinstance(error, ChainError):
        error.rule, error.sequence_number = str(told.get("rule")), told.get("sequence_number")
    return error


def _families(family: type[OdfError]) -> Iterator[type[OdfError]]:
    yield family
    for narrower in family.__subclasses__():
        if narrower.__module__ == errors.__name__:
            yield from _families(narrower)
