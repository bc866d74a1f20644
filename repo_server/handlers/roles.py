"""Roles in a dataset, and who may read it without one: seen by those who maintain it, decided by its owners.

Maintainers give and take roles up to writer; whoever has more is for owners alone. Roles in a whole account are those
of the members of an organisation.
"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Final

from aiohttp import web
from typing_extensions import TypedDict

from catalog.permissions import Access
from catalog.roles import Grant, Holder, Role, find_holder
from catalog.teams import Team
from catalog.visibility import Visibility
from opendatafabric.errors import AccessDenied, NotFound
from repo_server.body_forms import JsonBody, read_body
from repo_server.gate import VISIT, Visit, access_of
from repo_server.openapi.described import JSON, Body, Tag, describes, empty, json
from repo_server.problems import json_response

_HIGHEST_OF_MAINTAINERS: Final = Role.WRITER
_ELSEWHERE: Final = (HTTPStatus.NOT_IMPLEMENTED,)


class GivenRole(TypedDict):
    """A role, and the account that holds it, or ``team:NAME`` for a team of the account that the dataset is of."""

    holder: str
    role: str


class RoleList(TypedDict):
    """The roles that were given in the dataset itself, not those in the whole account."""

    roles: list[GivenRole]


class VisibilityState(TypedDict):
    """``private``, ``unlisted`` or ``public``."""

    visibility: str


class WantedRole(JsonBody):
    """``reader``, ``writer``, ``maintainer`` or ``owner``, in place of the one before."""

    role: str


class WantedVisibility(JsonBody):
    """``private``, ``unlisted`` or ``public``."""

    visibility: str


@describes(Tag.REPOSITORY, json(RoleList), shown=True)
async def get_roles(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/roles``."""
    found = request[VISIT]
    grants = await found.services.catalog.roles.list(found.dataset.entry.id)
    return json_response({"roles": [_plain(each) for each in grants]})


@describes(
    Tag.REPOSITORY, json(GivenRole), refuses=_ELSEWHERE, body=Body({JSON: WantedRole}, {"role": "reader"}), shown=True
)
async def put_role(request: web.Request) -> web.StreamResponse:
    """``PUT /{dataset}/roles/{holder}``: counts from the next request on."""
    found = request[VISIT].lying_here()
    role = Role.from_text((await read_body(request, WantedRole)).role)
    holder = await _holder(request, found)
    await _set(found, holder, role)
    return json_response(_plain(Grant(holder.name, isinstance(holder, Team), role)))


@describes(Tag.REPOSITORY, empty(HTTPStatus.NO_CONTENT), refuses=_ELSEWHERE, shown=True)
async def delete_role(request: web.Request) -> web.StreamResponse:
    """``DELETE /{dataset}/roles/{holder}``: taken away at once."""
    found = request[VISIT].lying_here()
    await _set(found, await _holder(request, found), None)
    return web.Response(status=HTTPStatus.NO_CONTENT)


@describes(Tag.REPOSITORY, json(VisibilityState), shown=True)
async def get_visibility(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/visibility``."""
    return json_response({"visibility": request[VISIT].dataset.record.visibility.value})


@describes(
    Tag.REPOSITORY,
    json(VisibilityState),
    refuses=_ELSEWHERE,
    body=Body({JSON: WantedVisibility}, {"visibility": "public"}),
    shown=True,
)
async def put_visibility(request: web.Request) -> web.StreamResponse:
    """``PUT /{dataset}/visibility``: counts from the next request on."""
    found = request[VISIT].lying_here()
    visibility = Visibility.from_text((await read_body(request, WantedVisibility)).visibility)
    await _make_known(found)
    await found.services.catalog.datasets.set_visibility(found.dataset.entry.id, visibility)
    found.services.directory.forget(found.alias)
    if found.services.publisher is not None:
        found.services.publisher.wake(found.dataset.entry.id)
    return json_response({"visibility": visibility.value})


async def _set(found: Visit, holder: Holder, role: Role | None) -> None:
    """Give a role, or none.

    Raises:
        AccessDenied: the caller may not do that.
        NotFound: there is none to be taken.
    """
    roles, dataset_id = found.services.catalog.roles, found.dataset.entry.id
    before = await roles.held(dataset_id, holder)
    if _is_for_owners(before, role) and await _access(found) < Access.OWN:
        raise AccessDenied("roles above writer are given and taken by owners", hint="ask an owner of the dataset")
    if before is None and role is None:
        raise NotFound(f"{holder.name} has no role in the dataset itself")
    await _make_known(found)
    await roles.grant(dataset_id, holder, role)


def _is_for_owners(*roles: Role | None) -> bool:
    return any(each is not None and each.level > _HIGHEST_OF_MAINTAINERS.level for each in roles)


async def _access(found: Visit) -> Access:
    return await access_of(found.services, found.dataset, found.caller, named=True)


async def _holder(request: web.Request, found: Visit) -> Holder:
    catalog = found.services.catalog
    owner = await catalog.accounts.find_by_id(found.dataset.record.owner_id)
    return await find_holder(request.match_info["holder"], owner, catalog.accounts, catalog.teams)


async def _make_known(found: Visit) -> None:
    """A folder that was put there while the server runs is in no catalog yet; what is kept of it needs that."""
    datasets, entry = found.services.catalog.datasets, found.dataset.entry
    if await datasets.find(entry.id) is None:
        await datasets.put(replace(found.dataset.record, alias=entry.alias))


def _plain(grant: Grant) -> GivenRole:
    return {"holder": grant.written, "role": grant.role.value}
