"""What a request wants of a list of datasets, by the parameters of its address. Those that are empty are not there:
forms send all of their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from aiohttp import web

from catalog.accounts import Account
from catalog.dataset_filters import Filters
from catalog.dataset_order import Order, Place
from catalog.facts_of_blocks import seconds
from catalog.standings import Standing
from opendatafabric.errors import MalformedIdentifier, MalformedInput, NotFound
from opendatafabric.index_limits import SEARCH_CHARS_MAX
from opendatafabric.instant import Instant
from opendatafabric.names import AccountName
from repo_server.openapi.described import Parameter
from repo_server.paging import AFTER, LIMIT_MAX, Key, cursor_of, limit_of, malformed_place
from repo_server.services import SERVICES

A_PAGE: Final = 20
_KINDS: Final = ("root", "derivative")
_DATE_CHARS: Final = len("2026-01-31")
_OF_DATASETS: Final = {"format": "date or date-time", "type": "string"}


def _one_of(*values: str) -> dict[str, Any]:
    return {"enum": ["", *values]}


Value = TypeVar("Value")

WORDS: Final = Parameter("q", "words that each dataset holds, parted by blanks; the last may go on", value="weather")
FILTERS: Final = (
    Parameter("kind", "roots or derivatives alone", _one_of(*_KINDS)),
    Parameter("standing", "how they stand by their last verification", _one_of(*Standing)),
    Parameter("license", "under that licence: its SPDX id, or its short name where there is none"),
    Parameter("keyword", "with that keyword"),
    Parameter("account", "of that account"),
    Parameter("updatedSince", "whose last block is not older: a date or an RFC 3339 time", _OF_DATASETS),
    Parameter("updatedBefore", "whose last block is older", _OF_DATASETS),
)
SORT: Final = Parameter("sort", "what stands first; the newest unless there are words", _one_of(*Order))
PAGES: Final = (
    Parameter(
        "limit", f"how many at a time; {A_PAGE} unless said", {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX}
    ),
    AFTER,
)
LISTED: Final = (WORDS, *FILTERS, SORT, *PAGES)
"""The parameters of a list of datasets."""


@dataclass(frozen=True, slots=True)
class Listing:
    """``filters`` is ``None`` where they name what is not there, so that nothing can be found."""

    filters: Filters | None
    order: Order
    count: int
    after: Place | None


async def listing_of(request: web.Request, *, owner: Account | None = None) -> Listing:
    """The list that ``request`` asks for, of the datasets of ``owner`` if that is given.

    Raises:
        MalformedInput: a value that is none of its parameter.
    """
    values = {each.name: value_of(request, each.name) for each in (WORDS, *FILTERS, SORT)}
    filters, order = filters_from(values), order_from(values, Order.NEWEST if owner is None else Order.NAME)
    after = cursor_of(request)
    place = None if after is None else _place(after, order)
    return Listing(await _of_account(request, filters, owner), order, limit_of(request) or A_PAGE, place)


def filters_from(values: Mapping[str, str]) -> Filters:
    """What parameters of these values mean, but for that of the account.

    Raises:
        MalformedInput: a value that is none of its parameter.
    """
    return Filters(
        words=values[WORDS.name][:SEARCH_CHARS_MAX],
        kind=_parsed(values, "kind", _chosen(str, *_KINDS)),
        standing=_parsed(values, "standing", _chosen(Standing, *Standing)),
        license=_parsed(values, "license", str),
        keyword=_parsed(values, "keyword", str),
        updated_since=_parsed(values, "updatedSince", _time),
        updated_before=_parsed(values, "updatedBefore", _time),
    )


def order_from(values: Mapping[str, str], usual: Order) -> Order:
    """What they are sorted by; ``usual`` where there are no words.

    Raises:
        MalformedInput: by nothing that is known.
    """
    usual = Order.RELEVANCE if values[WORDS.name].strip() else usual
    return _parsed(values, SORT.name, _chosen(Order, *Order)) or usual


def value_of(request: web.Request, name: str) -> str:
    """As it was sent; lone surrogates, which no text has, and NUL, which ends texts elsewhere, are replaced."""
    return request.query.get(name, "").encode(errors="replace").decode().replace("\0", "\ufffd")


async def _of_account(request: web.Request, filters: Filters, owner: Account | None) -> Filters | None:
    name = value_of(request, "account")
    if owner is None and name:
        try:
            owner = await request.app[SERVICES].catalog.accounts.find(AccountName(name))
        except (MalformedIdentifier, NotFound):
            return None
    return filters if owner is None else replace(filters, owner=owner.id)


def _parsed(values: Mapping[str, str], name: str, parse: Callable[[str], Value]) -> Value | None:
    text = values.get(name, "").strip()
    try:
        return parse(text) if text else None
    except MalformedInput as error:
        raise MalformedInput(f"{name} {error.message}", expected=error.expected, found=text[:100]) from None


def _chosen(made: Callable[[str], Value], *values: str) -> Callable[[str], Value]:
    def parsed(text: str) -> Value:
        if text not in values:
            raise MalformedInput("is none of its values", expected=", ".join(values))
        return made(text)

    return parsed


def _time(text: str) -> float:
    whole = f"{text}T00:00:00Z" if len(text) == _DATE_CHARS else text
    try:
        return seconds(Instant.from_rfc3339(whole))
    except MalformedInput:
        raise MalformedInput("is no time", expected="2026-01-31 or 2026-01-31T12:00:00Z") from None


def _place(key: Key, order: Order) -> Place:
    value_type = str if order is Order.NAME else float | int
    if len(key) != 2 or not isinstance(key[0], value_type) or not isinstance(key[1], str):
        raise malformed_place()
    return Place(key[0], key[1])
