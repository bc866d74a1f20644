"""From an error to an answer: one table. Bodies are ``{"message": …}`` as in the reference, with our code and hint."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import orjson
from aiohttp import web

from opendatafabric import errors
from repo_server.logs import redacted

_STATUS: Final[tuple[tuple[type[errors.OdfError], HTTPStatus], ...]] = (
    (errors.LimitExceeded, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (errors.ChainError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (errors.MalformedInput, HTTPStatus.BAD_REQUEST),
    (errors.HashMismatch, HTTPStatus.BAD_REQUEST),
    (errors.SizeMismatch, HTTPStatus.BAD_REQUEST),
    (errors.InvalidSignature, HTTPStatus.BAD_REQUEST),
    (errors.ProtocolViolation, HTTPStatus.BAD_REQUEST),
    (errors.NotFound, HTTPStatus.NOT_FOUND),
    (errors.Conflict, HTTPStatus.CONFLICT),
    (errors.AuthenticationRequired, HTTPStatus.UNAUTHORIZED),
    (errors.AccessDenied, HTTPStatus.FORBIDDEN),
    (errors.StorageFull, HTTPStatus.INSUFFICIENT_STORAGE),
    (errors.TransientStorageError, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.PeerUnavailable, HTTPStatus.BAD_GATEWAY),
    (errors.EngineUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.UnsupportedOperation, HTTPStatus.NOT_IMPLEMENTED),
)
"""The first family that fits decides; what fits none is our fault."""

_RETRY_AFTER_S: Final = "5"


def status_of(error: errors.OdfError) -> HTTPStatus:
    """The status that says ``error``."""
    for family, status in _STATUS:
        if isinstance(error, family):
            return status
    return HTTPStatus.INTERNAL_SERVER_ERROR


def problem(error: errors.OdfError) -> web.Response:
    """The answer that says ``error``; failures of ours tell no details."""
    status = status_of(error)
    if status is HTTPStatus.INTERNAL_SERVER_ERROR:
        return web.Response(status=status)
    headers = {"Retry-After": _RETRY_AFTER_S} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    told = {name: redacted(value) if isinstance(value, str) else value for name, value in error.as_dict().items()}
    return json_response(told, status=status, headers=headers)


def message(text: str, status: HTTPStatus) -> web.Response:
    """``{"message": text}``."""
    return json_response({"message": text}, status=status)


def plain(text: str, status: HTTPStatus) -> web.Response:
    """A line of text."""
    return web.Response(text=text, status=status)


def worded(error: errors.OdfError, status: HTTPStatus) -> web.Response:
    """The message of an error as a line of text; what was sent may stand in it, even a secret in the wrong place."""
    return plain(redacted(error.message), status)


def json_response(
    value: Any, *, status: HTTPStatus = HTTPStatus.OK, headers: dict[str, str] | None = None
) -> web.Response:
    """``value`` as JSON."""
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json", headers=headers)


class Refused(Exception):  # noqa: N818  it is an answer, not a failure
    """Ends the handling of a request with ``response``."""

    def __init__(self, response: web.Response) -> None:
        super().__init__(f"answered {response.status}")
        self.response = response
