"""What is here, for whoever looks: the newest datasets, those that are searched for, those of an account."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web
from yarl import URL

from catalog.accounts import Account, AccountKind
from catalog.dataset_lists import Counts, ListedDataset
from catalog.dataset_order import Order
from opendatafabric.errors import MalformedIdentifier, NotFound
from opendatafabric.names import AccountName
from repo_server.account_members import is_member, members_told
from repo_server.dataset_states import DatasetList, plain_counts, plain_listed
from repo_server.gate import CALLER
from repo_server.html_response import VARIES, frame_of, html_response, wants_html
from repo_server.listing import FILTERS, LISTED, PAGES, SORT, WORDS, Listing, listing_of, value_of
from repo_server.openapi.described import Tag, describes, json_or_page
from repo_server.pages.addresses import address_of
from repo_server.pages.templates import render
from repo_server.paging import AFTER, Key, link_to, path_to
from repo_server.problems import json_response
from repo_server.services import SERVICES

_ASIDE: Final = 6
_INTRO: Final = "Verifiable datasets of Open Data Fabric: every record can be traced to where it came from."
_SHOWN: Final = [each.name for each in (*FILTERS, SORT)]


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a list shows, and the key of its last row where more follow."""

    datasets: Sequence[ListedDataset]
    counts: Counts
    last: Key | None


@describes(Tag.REPOSITORY, json_or_page(DatasetList), parameters=LISTED, refuses=(HTTPStatus.BAD_REQUEST,), shown=True)
async def get_home(request: web.Request) -> web.StreamResponse:
    """``GET /``: the newest datasets; with ``?q=`` those that hold the words, and with filters those that are so."""
    shown = await _shown(request, await listing_of(request))
    if not wants_html(request):
        return _plain(request, shown)
    query, is_asked = value_of(request, WORDS.name).strip(), _is_asked(request)
    aside = {} if is_asked or request.query.get(AFTER.name) else await _aside(request)
    return _page(
        request,
        shown,
        title=f"Search for {query}" if query else "Datasets",
        heading="Found" if is_asked else "Newest",
        intro=None if is_asked else _INTRO,
        empty="Nothing that you may see is like that." if is_asked else "There are no datasets here yet.",
        chosen={name: value_of(request, name) for name in (WORDS.name, *_SHOWN)},
        **aside,
    )


@describes(
    Tag.REPOSITORY,
    json_or_page(DatasetList),
    parameters=(SORT, *PAGES),
    refuses=(HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND),
    shown=True,
)
async def get_account(request: web.Request) -> web.StreamResponse:
    """``GET /{account}``: its datasets. An account that owns nothing that the caller may see is not told from none."""
    services = request.app[SERVICES]
    try:
        account = await services.catalog.accounts.find(AccountName(request.match_info["account"]))
    except (MalformedIdentifier, NotFound):
        raise _no_account() from None
    listing = await listing_of(request, owner=account)
    shown = await _shown(request, listing)
    if not shown.datasets and listing.after is None and not await _is_theirs(request, account):
        raise _no_account()
    if not wants_html(request):
        return _plain(request, shown)
    return _page(
        request,
        shown,
        title=str(account.name),
        crumb="Organisation" if account.kind is AccountKind.ORGANIZATION else "Account",
        heading="Datasets",
        empty="This account has no datasets yet.",
        members=await members_told(services, request[CALLER], account),
    )


async def _shown(request: web.Request, listing: Listing) -> _Shown:
    if listing.filters is None:
        return _Shown((), Counts(0), None)
    lists, reader = request.app[SERVICES].catalog.dataset_lists, request[CALLER].reader
    listed = partial(lists.list, reader, filters=listing.filters, order=listing.order, after=listing.after)
    found, counts = await asyncio.gather(listed(count=listing.count + 1), lists.counted(reader, listing.filters))
    datasets, last = found[: listing.count], None
    if len(found) > listing.count:
        last = [datasets[-1].place.value, datasets[-1].place.id]
    return _Shown(datasets, counts, last)


async def _aside(request: web.Request) -> dict[str, Any]:
    lists, reader = request.app[SERVICES].catalog.dataset_lists, request[CALLER].reader
    verified = await lists.verified(reader, count=_ASIDE)
    largest = await lists.list(reader, order=Order.SIZE, count=_ASIDE)
    return {
        "verified": [{**_row(request, each.dataset), "verified_at": each.verified_at} for each in verified],
        "largest": [_row(request, each) for each in largest],
    }


def _page(request: web.Request, shown: _Shown, **told: Any) -> web.Response:
    told = {"crumb": None, "intro": None, "verified": [], "largest": [], "chosen": None, "members": [], **told}
    page = render(
        "home.html",
        frame=frame_of(request, query=value_of(request, WORDS.name).strip()),
        datasets=[_row(request, each) for each in shown.datasets],
        counts=shown.counts,
        complete=request.app[SERVICES].indexing.is_complete,
        following=None if shown.last is None else _path(request, path_to(request, shown.last)),
        first=_path(request, _without_cursor(request)) if request.query.get(AFTER.name) else None,
        **told,
    )
    return html_response(page)


def _plain(request: web.Request, shown: _Shown) -> web.Response:
    settings = request.app[SERVICES].settings
    body: DatasetList = {
        "datasets": [plain_listed(address_of(settings, each.alias), each) for each in shown.datasets],
        "total": shown.counts.total,
        "counts": plain_counts(shown.counts),
        "complete": request.app[SERVICES].indexing.is_complete,
        "next": None if shown.last is None else _path(request, path_to(request, shown.last)),
    }
    link: Mapping[str, str] = {} if shown.last is None else link_to(request, shown.last)
    return json_response(body, headers={**VARIES, **link})


def _row(request: web.Request, listed: ListedDataset) -> dict[str, Any]:
    return {
        "address": str(address_of(request.app[SERVICES].settings, listed.alias)),
        "visibility": listed.visibility.value,
        "kind": listed.kind,
        "records": listed.records,
        "bytes": listed.bytes,
        "updated_at": listed.updated_at,
        "description": listed.description,
        "license": listed.license,
        "standing": listed.standing.value,
    }


def _is_asked(request: web.Request) -> bool:
    """Whether something is looked for, whatever it is sorted by."""
    return any(value_of(request, each.name).strip() for each in (WORDS, *FILTERS))


def _without_cursor(request: web.Request) -> str:
    return str(request.rel_url.with_query({name: value for name, value in request.query.items() if name != AFTER.name}))


def _path(request: web.Request, path: str) -> str:
    return URL(request.app[SERVICES].base_url).raw_path.rstrip("/") + path


async def _is_theirs(request: web.Request, account: Account) -> bool:
    services, caller = request.app[SERVICES], request[CALLER]
    is_own = caller.account is not None and caller.account.id == account.id
    return is_own or (account.kind is AccountKind.ORGANIZATION and await is_member(services, caller, account))


def _no_account() -> NotFound:
    return NotFound("no account of that name has datasets that you may see")
