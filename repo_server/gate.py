"""Who is let through to a route: names, then tokens, then existence and permissions, which cannot be told apart.

What a route needs stands in the table of routes; it is asked here and nowhere else.

A private dataset is never admitted to exist. A pending one, made by a push that has not ended, exists for those alone
who may write to it, and only where objects are moved.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Final, NoReturn

from aiohttp import web

from catalog.accounts import Account
from catalog.permissions import Access, access_of_role, access_to
from catalog.scopes import Scope
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import MalformedIdentifier, NotFound, UnsupportedOperation
from opendatafabric.names import AccountName, DatasetName
from repo_server.directory import Hosted
from repo_server.former_names import told_of
from repo_server.identity import ANONYMOUS, NO_TOKEN, Caller
from repo_server.needs import Needs, OfDataset, OfNode, Who
from repo_server.problems import Refused as Refused  # noqa: PLC0414  handlers take it from here
from repo_server.problems import message, plain
from repo_server.reference_routes import speaks_as_reference
from repo_server.services import SERVICES, Services
from repo_server.sessions import browsing_caller

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

    def lying_here(self) -> Visit:
        """The same, at a dataset that does not lie upstream.

        Raises:
            UnsupportedOperation: it does.
        """
        if self.dataset.upstream is not None:
            raise UnsupportedOperation("the dataset lies elsewhere and is only kept here", hint="ask where it lies")
        return self


VISIT: Final = web.RequestKey("visit", Visit)
"""Where a request to a dataset keeps who was let through."""

LOOKED: Final = web.RequestKey("looked", Visit)
"""Where it keeps who looked for what, whether or not it was let through."""

CALLER: Final = web.RequestKey("caller", Caller)
"""Where a request keeps who calls."""

_NEEDS: Final = web.RequestKey[Needs]("needs")


async def admit(request: web.Request, needs: Needs) -> None:
    """Let ``request`` through to its handler, with ``CALLER`` and, for a dataset, ``VISIT`` set.

    Raises:
        Refused: with the answer that the protocol gives.
    """
    request[_NEEDS] = needs
    if isinstance(needs, OfNode):
        request[CALLER] = await _caller_at_node(request, needs)
        return
    visit = await _visit(request, OfDataset(needs) if isinstance(needs, Access) else needs)
    request[VISIT], request[CALLER] = visit, visit.caller


async def admitted_again(request: web.Request) -> Visit:
    """As the request was when it began, by what holds now: tokens end, roles are taken away while it goes on.

    Raises:
        Refused: the caller would not be let through any more.
    """
    await caller_again(request)
    await admit(request, request[_NEEDS])
    return request[VISIT]


async def access_of(services: Services, hosted: Hosted, caller: Caller, *, named: bool = False) -> Access:
    """What ``caller`` may do with the dataset; ``named`` when it gave the name. With a token nobody sees less than
    without."""
    account = caller.account
    role = None
    if account is not None and account.id != hosted.record.owner_id:
        role = await services.directory.role(hosted, account)
    access = access_to(hosted.record, caller.authenticated, role, named=named)
    if not services.settings.anonymous_access:
        return access
    return max(access, access_to(hosted.record, None, None, named=named))


async def may_make(found: Visit) -> bool:
    """Whether the caller may make a dataset at the place that was visited: in its own account, or as a writer of it."""
    services, caller = found.services, found.caller.authenticated
    if caller is None or not caller.allows(Scope.DATASETS_PUSH, services.directory.with_account(found.alias)):
        return False
    if not services.settings.multi_tenant or caller.account.is_admin or found.alias.account == caller.account.name:
        return True
    owner = await account_of_place(found)
    role = None if owner is None else await services.catalog.roles.in_account(caller.account.id, owner.id)
    return role is not None and access_of_role(role) >= Access.WRITE


async def account_of_place(found: Visit) -> Account | None:
    """The account in the path; ``None`` when there is none, or no such account."""
    try:
        return None if found.alias.account is None else await found.services.catalog.accounts.find(found.alias.account)
    except NotFound:
        return None


async def caller_again(request: web.Request) -> Caller:
    """Who calls, asked anew: a token may end while its request goes on, and so may the session of a browser."""
    caller = await request.app[SERVICES].identities.caller_now(request)
    return await browsing_caller(request) if caller is ANONYMOUS else caller


def listening(request: web.Request) -> AbstractContextManager[None]:
    """While it lasts, whoever calls is looked at again whenever something happened, together with all who listen."""
    return request.app[SERVICES].identities.listening(request)


async def _caller_at_node(request: web.Request, needs: OfNode) -> Caller:
    if needs.who is Who.UNASKED or (needs.unless is not None and needs.unless(request.app[SERVICES].settings)):
        return ANONYMOUS
    caller = await _caller_of(request, anonymous_too=needs.who in {Who.SIGNING_IN, Who.ADMIN})
    if needs.who in {Who.ACCOUNT, Who.ADMIN}:
        _require_account(caller, needs)
    return caller


async def _caller_of(request: web.Request, *, anonymous_too: bool) -> Caller:
    services = request.app[SERVICES]
    caller = await services.identities.caller_of(request)
    if caller is ANONYMOUS:
        caller = await browsing_caller(request)
    if caller.account is None and not (anonymous_too or services.settings.anonymous_access):
        raise Refused(plain("Anonymous account is restricted", HTTPStatus.UNAUTHORIZED))
    return caller


def _require_account(caller: Caller, needs: OfNode) -> None:
    known = caller.authenticated
    if known is None:
        raise Refused(message(needs.told or caller.reason or NO_TOKEN, HTTPStatus.UNAUTHORIZED))
    lacks_scope = needs.scope is not None and needs.scope not in known.scopes
    if lacks_scope or (needs.who is Who.ADMIN and not known.account.is_admin):
        raise Refused(message("Unauthorized", HTTPStatus.FORBIDDEN))


async def _visit(request: web.Request, needs: OfDataset) -> Visit:
    found = await _look(request)
    hosted, access = found.hosted, await _access(found)
    pending = hosted is not None and hosted.entry.pending
    if needs.new and (hosted is None or pending or _is_no_name_of_theirs(found, access)):
        return Visit(found.services, found.caller, found.alias, None)
    needed = max(needs.asked(request), Access.WRITE) if pending else needs.asked(request)
    if hosted is None or access is Access.NONE or (pending and not (needs.pending and access >= needed)):
        await _refuse_unseen(request, found)
    if access < needed:
        raise Refused(web.Response(status=HTTPStatus.FORBIDDEN))
    return found


async def _access(found: Visit) -> Access:
    if found.hosted is None:
        return Access.NONE
    return await access_of(found.services, found.hosted, found.caller, named=True)


def _is_no_name_of_theirs(found: Visit, access: Access) -> bool:
    """Whether a push to what the caller may not see is answered as one to a place under somebody else's account; where
    there are no accounts the name is everybody's, and taken."""
    nobody_could_make_it = found.services.settings.multi_tenant or found.caller.account is None
    return access is Access.NONE and nobody_could_make_it


async def _refuse_unseen(request: web.Request, found: Visit) -> NoReturn:
    """The same answer after the same work, whether there is no dataset or none for the caller."""
    gone = None if speaks_as_reference(request) else await told_of(found.services, found.alias, found.caller)
    if found.hosted is not None:
        await found.services.directory.look_for_nothing(found.alias)
    elif gone is not None:
        raise gone
    raise Refused(web.Response(status=HTTPStatus.NOT_FOUND))


async def _look(request: web.Request) -> Visit:
    caller = await _caller_of(request, anonymous_too=False)
    services = request.app[SERVICES]
    alias = _alias_of(request)
    _refuse_bad_token(caller)
    request[LOOKED] = found = Visit(services, caller, alias, await services.directory.find(alias))
    return found


def _alias_of(request: web.Request) -> DatasetAlias:
    try:
        return _alias(request.match_info.get("account"), request.match_info["name"])
    except MalformedIdentifier:
        raise Refused(web.Response(status=HTTPStatus.BAD_REQUEST)) from None


@lru_cache(_ALIASES_REMEMBERED)
def _alias(account: str | None, name: str) -> DatasetAlias:
    return DatasetAlias(None if account is None else AccountName(account), DatasetName(name))


def _refuse_bad_token(caller: Caller) -> None:
    if caller.reason is not None:
        raise Refused(plain(caller.reason, HTTPStatus.UNAUTHORIZED))
