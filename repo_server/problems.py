"""From an error to an answer: problem documents (RFC 9457), but where the reference's clients know another form.

A document has our fields beside those of the RFC: ``code``, ``retryable``, ``hint``, ``expected``, ``found``, and
``message``, which is where clients of the reference look. Handlers raise errors; ``Refused`` is for answers whose form
the protocol gives, and is turned into a document on routes that are ours alone.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import orjson
from aiohttp import hdrs, web

from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    Conflict,
    LimitExceeded,
    MalformedInput,
    NotFound,
    OdfError,
)
from repo_server.error_table import TYPES_PATH, error_type_of, status_of
from repo_server.http_errors import (
    BodyTooSlow,
    NotAcceptable,
    ServerBusy,
    TooManyRequests,
    UnprocessableBody,
    UnsupportedMediaType,
)
from repo_server.logs import redacted

PROBLEM: Final = "application/problem+json"
_RETRY_AFTER_S: Final = "5"
_FAMILIES: Final[dict[int, type[OdfError]]] = {
    HTTPStatus.BAD_REQUEST: MalformedInput,
    HTTPStatus.UNAUTHORIZED: AuthenticationRequired,
    HTTPStatus.FORBIDDEN: AccessDenied,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.NOT_ACCEPTABLE: NotAcceptable,
    HTTPStatus.REQUEST_TIMEOUT: BodyTooSlow,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: LimitExceeded,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: UnsupportedMediaType,
    HTTPStatus.UNPROCESSABLE_ENTITY: UnprocessableBody,
    HTTPStatus.TOO_MANY_REQUESTS: TooManyRequests,
    HTTPStatus.SERVICE_UNAVAILABLE: ServerBusy,
}
"""What a refusal in another form is called in a document."""


def problem(error: OdfError, request_id: str) -> web.Response:
    """The document that says ``error``; failures of ours tell no details."""
    status = status_of(type(error))
    if status is HTTPStatus.INTERNAL_SERVER_ERROR:
        error = OdfError("the server failed", hint="its log has the details under the number of this request")
    headers = error.headers if isinstance(error, TooManyRequests) else {}
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        headers = {hdrs.RETRY_AFTER: _RETRY_AFTER_S}
    return web.Response(
        body=orjson.dumps(_document(error, status, request_id)), status=status, content_type=PROBLEM, headers=headers
    )


def refusal_as_problem(response: web.Response, request_id: str) -> web.Response:
    """The document that says what ``response`` says in another form; its headers stay."""
    family = _FAMILIES.get(response.status)
    if family is None or response.content_type == PROBLEM:
        return response
    document = problem(family(_said_in(response) or error_type_of(family)[1].title), request_id)
    for name, value in response.headers.items():
        if name not in {hdrs.CONTENT_TYPE, hdrs.CONTENT_LENGTH}:
            document.headers[name] = value
    return document


def _document(error: OdfError, status: HTTPStatus, request_id: str) -> dict[str, Any]:
    code, kind = error_type_of(type(error))
    told = {name: redacted(value) if isinstance(value, str) else value for name, value in error.as_dict().items()}
    return {
        "type": f"{TYPES_PATH}{code}",
        "title": kind.title,
        "status": status,
        "detail": told["message"],
        "instance": request_id,
        **told,
    }


def _said_in(response: web.Response) -> str | None:
    text = response.text
    if text and response.content_type == "application/json":
        told = orjson.loads(text)
        return str(told["message"]) if "message" in told else None
    return text


def message(text: str, status: HTTPStatus) -> web.Response:
    """``{"message": text}``, as the reference has it."""
    return json_response({"message": text}, status=status)


def plain(text: str, status: HTTPStatus) -> web.Response:
    """A line of text."""
    return web.Response(text=text, status=status)


def worded(error: OdfError, status: HTTPStatus) -> web.Response:
    """The message of an error as a line of text; what was sent may stand in it, even a secret in the wrong place."""
    return plain(redacted(error.message), status)


def json_response(
    value: Any, *, status: HTTPStatus = HTTPStatus.OK, headers: dict[str, str] | None = None
) -> web.Response:
    """``value`` as JSON."""
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json", headers=headers)


class Refused(Exception):  # noqa: N818  it is an answer, not a failure
    """Ends the handling of a request with ``response``, or on routes of our own with a document that says the same."""

    def __init__(self, response: web.Response) -> None:
        super().__init__(f"answered {response.status}")
        self.response = response
