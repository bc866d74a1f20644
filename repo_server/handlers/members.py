"""The members of an organisation: seen by all of them, changed by its owners, up to writers by its maintainers.

A member is who has a role in the organisation itself, and by that in all its datasets. To others it is not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web
from typing_extensions import TypedDict

from catalog.accounts import Account, AccountKind
from catalog.roles import Role
from catalog.scopes import Scope
from opendatafabric.errors import AccessDenied, Conflict, MalformedInput, NotFound
from opendatafabric.names import AccountName
from repo_server.body_forms import JsonBody, read_body
from repo_server.gate import CALLER
from repo_server.openapi.described import JSON, Body, Tag, describes, empty, json
from repo_server.problems import json_response
from repo_server.services import SERVICES, Services


class MemberState(TypedDict):
    """``role`` is ``reader``, ``writer``, ``maintainer`` or ``owner``."""

    accountName: str
    role: str


class WantedMember(JsonBody):
    """The role in place of the one before."""

    role: str


@describes(Tag.REPOSITORY, json(list[MemberState]), refuses=(HTTPStatus.NOT_FOUND,), shown={"account": "meteo"})
async def get_members(request: web.Request) -> web.StreamResponse:
    """``GET /accounts/{account}/members``."""
    found = await _visited(request)
    grants = await found.services.catalog.roles.list(found.organization.id)
    return json_response([_plain(grant.holder, grant.role) for grant in grants if not grant.is_team])


@describes(
    Tag.REPOSITORY,
    json(MemberState),
    refuses=(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT),
    body=Body({JSON: WantedMember}, {"role": "writer"}),
    shown={"account": "meteo"},
)
async def put_member(request: web.Request) -> web.StreamResponse:
    """``PUT /accounts/{account}/members/{member}``."""
    found = await _visited(request)
    role = Role.from_text((await read_body(request, WantedMember)).role)
    member = await _member(request)
    if member.kind is not AccountKind.USER:
        raise MalformedInput(f"{member.name} is no user", hint="organisations are members of none")
    await found.set(member, role)
    return json_response(_plain(member.name, role))


@describes(
    Tag.REPOSITORY,
    empty(HTTPStatus.NO_CONTENT),
    refuses=(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT),
    shown={"account": "meteo"},
)
async def delete_member(request: web.Request) -> web.StreamResponse:
    """``DELETE /accounts/{account}/members/{member}``: everybody may leave."""
    found = await _visited(request)
    await found.set(await _member(request), None)
    return web.Response(status=HTTPStatus.NO_CONTENT)


@dataclass(frozen=True, slots=True)
class _Visited:
    """An organisation, and whoever came to it, with ``role``; administrators are owners everywhere."""

    services: Services
    organization: Account
    caller: Account
    role: Role

    async def set(self, member: Account, role: Role | None) -> None:
        """Give a member a role, or none.

        Raises:
            AccessDenied: the caller may not do that.
            NotFound: it is no member.
            Conflict: the organisation would have no owner.
        """
        roles = self.services.catalog.roles
        before = await roles.held(self.organization.id, member)
        leaves = member.id == self.caller.id and role is None
        if not leaves and not (self._may_give(before) and self._may_give(role)):
            raise AccessDenied(f"a {self.role.value} may not do that", hint="an owner of the organisation may")
        if before is None and role is None:
            raise NotFound(f"{member.name} is no member of {self.organization.name}")
        if before is Role.OWNER and role is not Role.OWNER and await self._owners() == 1:
            raise Conflict(f"{member.name} is the last owner", hint="make another one first")
        await roles.grant(self.organization.id, member, role)

    def _may_give(self, role: Role | None) -> bool:
        most = {Role.OWNER: Role.OWNER, Role.MAINTAINER: Role.WRITER}.get(self.role)
        return most is not None and (role is None or role.level <= most.level)

    async def _owners(self) -> int:
        grants = await self.services.catalog.roles.list(self.organization.id)
        return sum(grant.role is Role.OWNER and not grant.is_team for grant in grants)


async def _visited(request: web.Request) -> _Visited:
    services, known = request.app[SERVICES], request[CALLER].authenticated
    assert known is not None  # nobody else is let through
    name = AccountName(request.match_info["account"])
    try:
        found = await services.catalog.accounts.find(name)
    except NotFound:
        raise _absent(name) from None
    role: Role | None = Role.OWNER
    if not (known.account.is_admin and Scope.ADMIN in known.scopes):
        role = await services.catalog.roles.in_account(known.account.id, found.id)
    if role is None or found.kind is not AccountKind.ORGANIZATION:
        raise _absent(name)
    return _Visited(services, found, known.account, role)


async def _member(request: web.Request) -> Account:
    return await request.app[SERVICES].catalog.accounts.find(AccountName(request.match_info["member"]))


def _absent(name: AccountName) -> NotFound:
    return NotFound(f"there is no organisation {name}, or not for you")


def _plain(name: AccountName, role: Role) -> MemberState:
    return {"accountName": name[:], "role": role.value}
