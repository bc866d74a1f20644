"""What a refusal of a node means: permanent or worth another try, absent, full, forbidden.

Kubo answers nearly every failure with status 500 and a sentence, so the sentence decides; what no row
knows is permanent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import orjson

from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    NotFound,
    OdfError,
    StorageError,
    StorageFull,
    TransientStorageError,
    UnsupportedOperation,
)

MESSAGE_CHARS_MAX: Final = 300
"""As much of a node's sentence as goes into ours."""

_LATER: Final = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}
_SENTENCES: Final[Sequence[tuple[type[OdfError], tuple[str, ...]]]] = (
    (StorageFull, ("no space left", "enospc", "quota exceeded", "storagemax")),
    (
        TransientStorageError,
        (
            "timeout",
            "timed out",
            "deadline exceeded",
            "context canceled",
            "connection re",
            "too many open files",
            "temporar",
            "unavailable",
            "try again",
        ),
    ),
    (
        NotFound,
        ("not found", "enotfound", "could not find", "could not resolve", "no link named", "no key by the given name"),
    ),
)


def refusal(command: str, status: int, body: bytes) -> OdfError:
    """The error of an answer that is no 200."""
    by_status = _refusal_by_status(command, status)
    if by_status is not None:
        return by_status
    message = _message(body)
    if message is None and status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return TransientStorageError(f"the IPFS node refused {command} without a reason", found=f"status {status}")
    return failure(command, message or f"status {status}")


def failure(command: str, message: str) -> OdfError:
    """The error that a sentence of the node tells of."""
    lowered = message.lower()
    families = (family for family, words in _SENTENCES if any(word in lowered for word in words))
    return next(families, StorageError)(f"the IPFS node failed at {command}: {_printable(message)}")


def error_in(line: Mapping[str, Any]) -> str | None:
    """What a line of an answer says went wrong, in any of the forms that nodes use; ``None`` when all is well."""
    if line.get("Type") == "error":
        return str(line.get("Message"))
    pinned = line.get("Root", line)
    message = pinned.get("PinErrorMsg") if isinstance(pinned, Mapping) else None
    return str(message) if message else None


def _refusal_by_status(command: str, status: int) -> OdfError | None:
    what, found = f"the IPFS node refused {command}", f"status {status}"
    if status == HTTPStatus.UNAUTHORIZED:
        return AuthenticationRequired(f"{what}: it wants a token", hint="set ODF_IPFS_TOKEN")
    if status == HTTPStatus.FORBIDDEN:
        return AccessDenied(f"{what}: not allowed", hint="look at API.Authorizations in the settings of the node")
    if status == HTTPStatus.NOT_FOUND:
        return UnsupportedOperation(f"the IPFS node does not know the command {command}")
    if status in _LATER:
        return TransientStorageError(f"{what} for now", found=found)
    if status < HTTPStatus.BAD_REQUEST:
        return StorageError(f"{what}: it wants to lead elsewhere, which is not followed", found=found)
    return None


def _message(body: bytes) -> str | None:
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return told["Message"] if isinstance(told, dict) and isinstance(told.get("Message"), str) else None


def _printable(message: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in message[:MESSAGE_CHARS_MAX])
