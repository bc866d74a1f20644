"""What client, worker and engine say to each other: one JSON object a line.

A client says ``{"stamp", "job", "arguments", "foreign", "timeout_s"}``. It is answered by any number of
``{"waiting": text}`` and ``{"progress": {…}}``, then by one ``{"result": {…}}``, ``{"error": {…}}`` or, from a worker
that goes to make room for another, ``{"replaced": true}``. The worker passes the request on to the engine and its
answers back. Errors travel as their ``as_dict`` and come out as the same family.
"""

from __future__ import annotations

import json
from typing import Any

from opendatafabric.errors import LimitExceeded, OdfError, ProtocolViolation
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
