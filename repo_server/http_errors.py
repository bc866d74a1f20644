"""Errors that there are only over HTTP: what is wrong with a request before anybody looks at what it means."""

from __future__ import annotations

from opendatafabric.errors import Conflict, DatasetNotFound, MalformedInput, PeerUnavailable


class UnsupportedMediaType(MalformedInput):
    """A body in a form that is not taken here."""

    code = "unsupported-media-type"


class UnprocessableBody(MalformedInput):
    """A body that can be read and does not say what it should."""

    code = "unprocessable-body"


class NotAcceptable(MalformedInput):
    """An answer in none of the forms that were asked for."""

    code = "not-acceptable"


class BodyTooSlow(MalformedInput):
    """A body that came too slowly."""

    code = "body-too-slow"


class ServerBusy(PeerUnavailable):
    """As much goes on here as may at once."""

    code = "server-busy"


class Gone(DatasetNotFound):
    """A dataset that lay under this name, and does no more."""

    code = "dataset-gone"


class PreconditionFailed(Conflict):
    """The head that a request is for is not the one that is there."""

    code = "precondition-failed"


class PreconditionRequired(MalformedInput):
    """A request that has to say which head it is for."""

    code = "precondition-required"


class TooManyRequests(PeerUnavailable):
    """Somebody asks more often than may be; ``headers`` of the answer say when to come again."""

    code = "too-many-requests"

    def __init__(self, message: str, *, expected: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, expected=expected, hint=hint)
        self.headers: dict[str, str] = {}
