"""Who is let through to a dataset: names, then existence, then tokens, then permissions, in the order of the protocol.

A private dataset is never admitted to exist. A pending one, made by a push that has not ended, exists for those alone
who may write to it, and only where objects are moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from aiohttp import web

from catalog.permissions import Access, access_to
from catalog.tokens import Scope
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.names import AccountName, DatasetName
from repo_server.directory import Hosted
from repo_server.identity import NO_TOKEN, Caller
from repo_server.problems import Refused as Refused  # noqa: PLC0414  handlers take it from here
from repo_server.problems import message, plain
from repo_server.services import SERVICES, Services

_ALIASES_REMEMBERED: Final = 1_000
"""Paths whose names are not read anew for each request."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A caller at a dataset; ``hosted`` is ``None`` for a place where one may be made."""

    services: Services
    caller: Caller
    alias: DatasetAlias
    hosted: Hosted | None

    @property
    def dataset(self) -> Hosted:
        """The dataset, on routes that are only reached when there is one."""
        assert self.hosted is not None
        return self.hosted


VISIT: Final = web.RequestKey("visit", Visit)
"""Where a request keeps who was let through, on routes that say what they need."""


async def caller_of(request: web.Request, *, anonymous_too: bool = False) -> Caller:
    """Who calls.

    Raises:
        Refused: a malformed header, or an anonymous caller where those are shut out (unless ``anonymous_too``).
    """
    services = request.app[SERVICES]
    caller = await services.identities.caller_of(request)
    if caller.account is None and not (anonymous_too or services.settings.anonymous_access):
        raise Refused(plain("Anonymous account is restricted", HTTPStatus.UNAUTHORIZED))
    return caller


async def require_admin(request: web.Request) -> None:
    """Go on for administrators alone, with a token that is good for that.

    Raises:
        Refused: somebody else.
    """
    caller = await caller_of(request, anonymous_too=True)
    known = caller.authenticated
    if known is None:
        raise Refused(plain(caller.reason or NO_TOKEN, HTTPStatus.UNAUTHORIZED))
    if not known.account.is_admin or Scope.READ not in known.scopes:
        raise Refused(message("Unauthorized", HTTPStatus.FORBIDDEN))


async def visit(request: web.Request, needed: Access, *, pending: bool = False) -> Visit:
    """The dataset in the path, for somebody who may do ``needed``; with ``pending`` also one that is being pushed.

    Raises:
        Refused: with the answer that the protocol gives.
    """
    found = await _look(request)
    if found.hosted is None or (found.hosted.entry.pending and not pending):
        raise Refused(web.Response(status=HTTPStatus.NOT_FOUND))
    if found.hosted.entry.pending:
        needed = Access.WRITE
    else:
        _refuse_bad_token(found.caller)
    await _require(found, found.hosted, needed)
    return found


async def visit_for_push(request: web.Request) -> Visit:
    """The dataset in the path for somebody who may write to it, or the place where it may be made.

    Raises:
        Refused: with the answer that the protocol gives.
    """
    found = await _look(request)
    _refuse_bad_token(found.caller)
    if found.hosted is None or found.hosted.entry.pending:
        return Visit(found.services, found.caller, found.alias, None)
    await _require(found, found.hosted, Access.WRITE)
    return found


async def access_of(services: Services, hosted: Hosted, caller: Caller) -> Access:
    """What ``caller`` may do with the dataset."""
    account = caller.account
    role = None
    if account is not None and account.id != hosted.record.owner_id:
        role = await services.directory.role(hosted, account)
    return access_to(hosted.record, caller.authenticated, role)


async def _look(request: web.Request) -> Visit:
    caller = await caller_of(request)
    services = request.app[SERVICES]
    alias = _alias_of(request)
    return Visit(services, caller, alias, await services.directory.find(alias))


def _alias_of(request: web.Request) -> DatasetAlias:
    try:
        return _alias(request.match_info.get("account"), request.match_info["name"])
    except MalformedIdentifier:
        raise Refused(web.Response(status=HTTPStatus.BAD_REQUEST)) from None


@lru_cache(_ALIASES_REMEMBERED)
def _alias(account: str | None, name: str) -> DatasetAlias:
    return DatasetAlias(None if account is None else AccountName(account), DatasetName(name))


async def _require(found: Visit, hosted: Hosted, needed: Access) -> None:
    access = await access_of(found.services, hosted, found.caller)
    if access is Access.NONE or (hosted.entry.pending and access < needed):
        raise Refused(web.Response(status=HTTPStatus.NOT_FOUND))
    if access < needed:
        raise Refused(web.Response(status=HTTPStatus.FORBIDDEN))


def _refuse_bad_token(caller: Caller) -> None:
    if caller.reason is not None:
        raise Refused(plain(caller.reason, HTTPStatus.UNAUTHORIZED))
