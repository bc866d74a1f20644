"""What is here, for whoever looks: the newest datasets, those that hold some words, those of an account."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web
from yarl import URL

from catalog.accounts import Account
from catalog.dataset_lists import ListedDataset, Order
from opendatafabric.errors import MalformedIdentifier, MalformedInput, NotFound
from opendatafabric.names import AccountName
from repo_server.dataset_states import DatasetList, plain_listed
from repo_server.gate import CALLER
from repo_server.html_response import VARIES, frame_of, html_response, wants_html
from repo_server.identity import Caller
from repo_server.openapi.described import Parameter, Tag, describes, json_or_page
from repo_server.pages.addresses import address_of
from repo_server.pages.templates import render
from repo_server.problems import json_response
from repo_server.services import SERVICES

_A_PAGE: Final = 20
_ASIDE: Final = 6
_QUERY_CHARS_MAX: Final = 200
_OFFSET_MAX: Final = 1_000_000


_INTRO: Final = "Verifiable datasets of Open Data Fabric: every record can be traced to where it came from."
_AFTER: Final = Parameter("after", "how many to pass over", {"type": "integer", "minimum": 0}, value=20)


@describes(
    Tag.REPOSITORY,
    json_or_page(DatasetList),
    parameters=(Parameter("q", "words that each dataset holds, parted by blanks", value="weather"), _AFTER),
)
async def get_home(request: web.Request) -> web.StreamResponse:
    """``GET /``: the newest datasets; with ``?q=`` those that hold each of the words."""
    words = _words(request)
    found = await _list(request, words=words)
    if not wants_html(request):
        return _plain(request, found)
    query = " ".join(words)
    aside = {"verified": [], "largest": []} if words or _after(request) else await _aside(request)
    return _page(
        request,
        found,
        title=f"Search for {query}" if words else "Datasets",
        heading="Found" if words else "Newest",
        intro=None if words else _INTRO,
        empty="Nothing that you may see holds these words." if words else "There are no datasets here yet.",
        **aside,
    )


@describes(Tag.REPOSITORY, json_or_page(DatasetList), parameters=(_AFTER,), refuses=(HTTPStatus.NOT_FOUND,))
async def get_account(request: web.Request) -> web.StreamResponse:
    """``GET /{account}``: its datasets. An account that owns nothing that the caller may see is not told from none."""
    services = request.app[SERVICES]
    try:
        account = await services.catalog.accounts.find(AccountName(request.match_info["account"]))
    except (MalformedIdentifier, NotFound):
        raise _no_account() from None
    found = await _list(request, owner=account, order=Order.NAME)
    if not found and not _after(request) and not _is_own(request[CALLER], account):
        raise _no_account()
    if not wants_html(request):
        return _plain(request, found)
    return _page(
        request,
        found,
        title=str(account.name),
        crumb="Account",
        heading="Datasets",
        empty="This account has no datasets yet.",
    )


async def _list(
    request: web.Request,
    *,
    order: Order = Order.NEWEST,
    words: Sequence[str] = (),
    owner: Account | None = None,
) -> Sequence[ListedDataset]:
    """One more than a page shows, if there are more."""
    return await request.app[SERVICES].catalog.dataset_lists.list(
        request[CALLER].reader,
        order=order,
        words=words,
        owner=None if owner is None else owner.id,
        count=_A_PAGE + 1,
        after=_after(request),
    )


async def _aside(request: web.Request) -> dict[str, Any]:
    lists, reader = request.app[SERVICES].catalog.dataset_lists, request[CALLER].reader
    verified = await lists.verified(reader, count=_ASIDE)
    largest = await lists.list(reader, order=Order.LARGEST, count=_ASIDE)
    return {
        "verified": [{**_row(request, each.dataset), "verified_at": each.verified_at} for each in verified],
        "largest": [_row(request, each) for each in largest],
    }


def _page(request: web.Request, found: Sequence[ListedDataset], **told: Any) -> web.Response:
    after = _after(request)
    told = {"crumb": None, "intro": None, "verified": [], "largest": [], **told}
    page = render(
        "home.html",
        frame=frame_of(request, query=" ".join(_words(request))),
        datasets=[_row(request, each) for each in found[:_A_PAGE]],
        older=_at(request, after + _A_PAGE) if len(found) > _A_PAGE else None,
        newer=_at(request, max(0, after - _A_PAGE)) if after else None,
        **told,
    )
    return html_response(page)


def _plain(request: web.Request, found: Sequence[ListedDataset]) -> web.Response:
    settings = request.app[SERVICES].settings
    rows = [plain_listed(address_of(settings, each.alias), each) for each in found[:_A_PAGE]]
    following = _at(request, _after(request) + _A_PAGE) if len(found) > _A_PAGE else None
    return json_response({"datasets": rows, "next": following}, headers=VARIES)


def _row(request: web.Request, listed: ListedDataset) -> dict[str, Any]:
    return {
        "address": str(address_of(request.app[SERVICES].settings, listed.alias)),
        "visibility": listed.visibility.value,
        "kind": listed.kind,
        "records": listed.records,
        "bytes": listed.bytes,
        "updated_at": listed.updated_at,
        "description": listed.description,
    }


def _words(request: web.Request) -> Sequence[str]:
    return request.query.get("q", "")[:_QUERY_CHARS_MAX].split()


def _after(request: web.Request) -> int:
    text = request.query.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(_OFFSET_MAX)) and int(text) <= _OFFSET_MAX):
        raise MalformedInput("a list is gone on with after a number of datasets", hint="?after=20")
    return int(text)


def _at(request: web.Request, after: int) -> str:
    query = {name: value for name, value in request.query.items() if name == "q"}
    if after:
        query["after"] = str(after)
    root = URL(request.app[SERVICES].base_url).raw_path.rstrip("/")
    return str(URL(root + request.rel_url.raw_path, encoded=True).with_query(query))


def _is_own(caller: Caller, account: Account) -> bool:
    return caller.account is not None and caller.account.id == account.id


def _no_account() -> NotFound:
    return NotFound("no account of that name has datasets that you may see")
