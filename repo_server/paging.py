"""Lists in pages: ``?limit=`` many at a time, the next page by the ``Link`` of the answer (RFC 8288).

A cursor says after which row to go on, so that rows that come or go meanwhile shift nothing; what is in it is nobody's
business. Rows are put in the order of their keys, the greatest first.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import orjson
from aiohttp import web

from opendatafabric.errors import MalformedInput
from repo_server.openapi.described import Parameter
from repo_server.services import SERVICES

LIMIT_MAX: Final = 1_000
_CURSOR_CHARS_MAX: Final = 500
LIMIT: Final = Parameter(
    "limit", "how many at a time; without it, all", {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX}
)
AFTER: Final = Parameter("after", "where to go on: from the `Link` of the page before")
PAGED: Final = (LIMIT, AFTER)
"""The parameters of a list in pages."""

Row = TypeVar("Row")
Key = list[str | int | float]


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows, and the header that leads to the next ones."""

    rows: Sequence[Row]
    headers: dict[str, str]


def page_of(request: web.Request, rows: Sequence[Row], key: Callable[[Row], Key]) -> Page[Row]:
    """The rows that ``request`` asks for.

    Raises:
        MalformedInput: a limit or a cursor that is none.
    """
    limit, after = limit_of(request), cursor_of(request)
    ordered = sorted(rows, key=key, reverse=True)
    left = ordered if after is None else [row for row in ordered if _comes_after(key(row), after)]
    if limit is None or len(left) <= limit:
        return Page(left, {})
    shown = left[:limit]
    return Page(shown, link_to(request, key(shown[-1])))


def _comes_after(key: Key, after: Key) -> bool:
    try:
        return key < after
    except TypeError:
        raise malformed_place() from None


def limit_of(request: web.Request) -> int | None:
    """How many rows a page is to have.

    Raises:
        MalformedInput: that is no number of rows.
    """
    text = request.query.get(LIMIT.name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 5 and 1 <= int(text) <= LIMIT_MAX):
        raise MalformedInput("a limit is a number", expected=f"1 to {LIMIT_MAX}", found=text[:100])
    return int(text)


def cursor_of(request: web.Request) -> Key | None:
    """Where to go on.

    Raises:
        MalformedInput: that is no place in any list.
    """
    text = request.query.get(AFTER.name)
    if text is None:
        return None
    try:
        told = orjson.loads(urlsafe_b64decode(text)) if len(text) <= _CURSOR_CHARS_MAX else None
    except (binascii.Error, ValueError):
        told = None
    if not isinstance(told, list):
        raise malformed_place()
    return told


def link_to(request: web.Request, key: Key) -> dict[str, str]:
    """The header that leads to what follows on the row of that key."""
    return {"Link": f'<{request.app[SERVICES].base_url}{path_to(request, key)}>; rel="next"'}


def path_to(request: web.Request, key: Key) -> str:
    """The same as a path below the server."""
    cursor = urlsafe_b64encode(orjson.dumps(key)).decode()
    return str(request.rel_url.update_query({**request.query, AFTER.name: cursor}))


def malformed_place() -> MalformedInput:
    """A cursor that is none."""
    return MalformedInput("this is no place in the list", hint="take the `Link` of the page before, or begin anew")
