"""Who is let through to which handler: names, then existence, then tokens, then permissions, in the order of the protocol.

A private dataset is never admitted to exist. A pending one, made by a push that has not ended, exists for those alone
who may write to it, and only where objects are moved.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus

from aiohttp import web

from catalog.datasets import DatasetRecord, Visibility
from catalog.permissions import Access, access_to
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.names import AccountName, DatasetName
from repo_server.identity import ANONYMOUS, Caller, identify
from repo_server.problems import Refused, empty, text_error
from repo_server.services import SERVICES, Services
from storage.dataset import Dataset
from storage.repository import DatasetEntry


class Permission(Enum):
    """What a route asks of its caller."""

    OPEN = "open"
    """Nothing; tokens are not even looked at."""
    LOGIN = "login"
    """A well-formed header; works where anonymous access is off."""
    ANYONE = "anyone"
    """As ``LOGIN``, but closed to anonymous callers where anonymous access is off."""
    READ = "read"
    """Reading the dataset in the path."""
    WRITE = "write"
    """Writing to the dataset in the path."""
    READ_OBJECTS = "read, also a dataset that is being pushed"
    WRITE_OBJECTS = "write, also a dataset that is being pushed"
    PUSH = "push"
    """Writing to the dataset in the path, which may not exist yet."""


PENDING_TOO = frozenset({Permission.READ_OBJECTS, Permission.WRITE_OBJECTS})
NEEDS_WRITE = frozenset({Permission.WRITE, Permission.WRITE_OBJECTS, Permission.PUSH})
NODE = frozenset({Permission.OPEN, Permission.LOGIN, Permission.ANYONE})


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was let through, and what is known of it by then."""

    request: web.Request
    services: Services
    caller: Caller = ANONYMOUS
    alias: DatasetAlias | None = None
    entry: DatasetEntry | None = None
    record: DatasetRecord | None = None

    @property
    def found(self) -> DatasetEntry:
        """The dataset of a route that has one."""
        assert self.entry is not None
        return self.entry

    @property
    def dataset(self) -> Dataset:
        return self.found.dataset

    @property
    def is_public(self) -> bool:
        return self.record is not None and self.record.visibility is Visibility.PUBLIC and not self.found.pending


Handler = Callable[[Call], Awaitable[web.StreamResponse]]


def guarded(handler: Handler, permission: Permission) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """``handler`` behind its permission, as aiohttp calls it."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return await handler(await let_through(request, request.app[SERVICES], permission))

    return handle


async def let_through(request: web.Request, services: Services, permission: Permission) -> Call:
    """The call that ``request`` is.

    Raises:
        Refused: with the answer that says why not.
    """
    if permission is Permission.OPEN:
        return Call(request, services)
    caller = await identify(request, services.catalog.tokens)
    closed = not services.settings.anonymous_access and permission is not Permission.LOGIN
    if closed and caller.account is None:
        raise Refused(text_error(HTTPStatus.UNAUTHORIZED, "Anonymous account is restricted"))
    if permission in NODE:
        return Call(request, services, caller)
    alias = alias_of(request)
    entry = await services.find(alias)
    if entry is not None and entry.pending and permission not in PENDING_TOO:
        entry = None
    if entry is None:
        return _unknown(Call(request, services, caller, alias), permission)
    return await _known(Call(request, services, caller, alias, entry), permission)


def alias_of(request: web.Request) -> DatasetAlias:
    """The alias in the path; ``Refused`` when it is outside the grammar of names."""
    account = request.match_info.get("account")
    try:
        return DatasetAlias(
            None if account is None else AccountName(account), DatasetName(request.match_info["name"])
        )
    except MalformedIdentifier:
        raise Refused(empty(HTTPStatus.BAD_REQUEST)) from None


def _unknown(call: Call, permission: Permission) -> Call:
    if permission is not Permission.PUSH:
        raise Refused(empty(HTTPStatus.NOT_FOUND))
    _refuse_bad_token(call.caller)
    return call


async def _known(call: Call, permission: Permission) -> Call:
    if not call.found.pending:
        _refuse_bad_token(call.caller)
    record = await call.services.catalog.datasets.find(call.found.id) or await adopted(call.services, call.found)
    access = await access_of(call.services, record, call.caller)
    needed = Access.WRITE if permission in NEEDS_WRITE else Access.READ
    if access is Access.NONE or (call.found.pending and access is not Access.WRITE):
        raise Refused(empty(HTTPStatus.NOT_FOUND))
    if access < needed:
        raise Refused(empty(HTTPStatus.FORBIDDEN))
    return Call(call.request, call.services, call.caller, call.alias, call.entry, record)


async def access_of(services: Services, record: DatasetRecord, caller: Caller) -> Access:
    """What ``caller`` may do with the dataset."""
    account = caller.account
    role = None if account is None else await services.catalog.datasets.role(record.id, account)
    return access_to(record, caller.authenticated, role)


async def adopted(services: Services, entry: DatasetEntry) -> DatasetRecord:
    """What the catalog will know of a dataset that somebody put on the disk: it gets the owner and visibility set for
    such ones. A pending one is left alone, it gets its owner from the push that makes it."""
    catalog, settings = services.catalog, services.settings
    owner = await catalog.accounts.find_or_create(entry.alias.account or AccountName(settings.default_account))
    record = DatasetRecord(entry.id, entry.alias, owner.id, settings.default_visibility)
    if not entry.pending:
        await catalog.datasets.put(record)
    return record


def _refuse_bad_token(caller: Caller) -> None:
    if caller.reason is not None:
        raise Refused(text_error(HTTPStatus.UNAUTHORIZED, caller.reason))
