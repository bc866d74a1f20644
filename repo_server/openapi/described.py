"""How a handler says what it takes and gives: ``@describes(…)`` above it. What every route has is not said again.

Names, tokens, permissions and limits follow from the table of routes (``statuses.py``), path parameters from their
names (``parameters.py``). A schema is a type that pydantic knows, or a JSON Schema.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final, TypeVar

from aiohttp import web

Schema = Any
"""A type, or a JSON Schema as a mapping."""

Content = Mapping[str, Schema]
"""Schemas by media type; no media type means no body."""

JSON: Final = "application/json"
HTML: Final = "text/html"
TEXT: Final = "text/plain"
FORM: Final = "application/x-www-form-urlencoded"
BYTES: Final = "application/octet-stream"
BINARY: Final[Mapping[str, Any]] = {"type": "string", "format": "binary"}
STRING: Final[Mapping[str, Any]] = {"type": "string"}
NO_BODY: Final[Content] = {}

_Handler = TypeVar("_Handler", bound=Callable[[web.Request], Awaitable[web.StreamResponse]])


class Tag(StrEnum):
    """How routes are grouped; the first four as in the reference."""

    CORE = "odf-core"
    TRANSFER = "odf-transfer"
    QUERY = "odf-query"
    KAMU = "kamu"
    REPOSITORY = "repository"
    IPFS = "ipfs"
    PAGES = "pages"


@dataclass(frozen=True, slots=True)
class Answer:
    """One thing that may come back, when all goes well or when a refusal has a form of its own."""

    content: Content = field(default_factory=dict)
    status: HTTPStatus = HTTPStatus.OK
    says: str = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query, or a header. ``value`` stands in examples."""

    name: str
    says: str
    schema: Schema = field(default_factory=lambda: STRING)
    place: str = "query"
    value: object = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent; ``example`` is a JSON value, or text."""

    content: Content
    example: Any = None
    required: bool = True


@dataclass(frozen=True, slots=True)
class Operation:
    """What a handler says of itself. ``shown`` when its example stands on the page, and is run by a test: with these
    values in the path, else those of the parameters."""

    tag: Tag
    answers: tuple[Answer, ...]
    refuses: tuple[HTTPStatus, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    shown: Mapping[str, str] | None = None


_OPERATIONS: Final[dict[object, Operation]] = {}


def describes(
    tag: Tag,
    *answers: Answer,
    refuses: tuple[HTTPStatus, ...] = (),
    parameters: tuple[Parameter, ...] = (),
    body: Body | None = None,
    shown: bool | Mapping[str, str] = False,
) -> Callable[[_Handler], _Handler]:
    """Says of the handler below what it takes and gives. ``refuses`` has what does not follow from the route."""

    def said(handler: _Handler) -> _Handler:
        values = {} if shown is True else shown or None
        _OPERATIONS[handler] = Operation(tag, answers, refuses, parameters, body, values)
        return handler

    return said


def operation_of(handler: object) -> Operation | None:
    """What ``handler`` says of itself."""
    return _OPERATIONS.get(handler)


def json(schema: Schema, status: HTTPStatus = HTTPStatus.OK, says: str = "") -> Answer:
    """An answer in JSON."""
    return Answer({JSON: schema}, status, says)


def empty(status: HTTPStatus = HTTPStatus.OK, says: str = "") -> Answer:
    """An answer without a body."""
    return Answer(NO_BODY, status, says)


def page(says: str = "", status: HTTPStatus = HTTPStatus.OK) -> Answer:
    """A page alone."""
    return Answer({HTML: STRING}, status, says)


def json_or_page(schema: Schema, says: str = "") -> Answer:
    """JSON, or a page for those who ask for HTML."""
    return Answer({JSON: schema, HTML: STRING}, HTTPStatus.OK, says)


NOT_MODIFIED: Final = empty(HTTPStatus.NOT_MODIFIED, "the caller has it already (`If-None-Match`)")
