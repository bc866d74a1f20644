"""What accounts have and may have."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from aiohttp import web
from pydantic import Field
from typing_extensions import TypedDict

from catalog.accounts import Account
from catalog.amounts import Quota
from opendatafabric.names import AccountName
from repo_server.body_forms import JsonBody, read_body
from repo_server.gate import CALLER
from repo_server.openapi.described import JSON, Body, Tag, describes, json
from repo_server.problems import json_response
from repo_server.services import SERVICES


class UsageState(TypedDict):
    """What is taken, or about to be, and the most of each; 0 is any number."""

    used: dict[str, int]
    quota: dict[str, int | None]


_Most = Annotated[int | None, Field(ge=0, lt=2**63)]


class WantedQuota(JsonBody):
    """The most of each; 0 is any number, ``null`` what the node says."""

    bytes: _Most = None
    objects: _Most = None
    datasets: _Most = None


@describes(Tag.REPOSITORY, json(UsageState), shown=True)
async def get_my_usage(request: web.Request) -> web.StreamResponse:
    """``GET /accounts/me/usage``."""
    account = request[CALLER].account
    assert account is not None  # nobody else is let through
    return json_response(await _state(request, account))


@describes(Tag.REPOSITORY, json(UsageState), refuses=(HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST), shown=True)
async def get_usage(request: web.Request) -> web.StreamResponse:
    """``GET /accounts/{account}/usage``."""
    return json_response(await _state(request, await _named(request)))


@describes(
    Tag.REPOSITORY,
    json(UsageState),
    refuses=(HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST),
    body=Body({JSON: WantedQuota}, {"datasets": 100}),
    shown=True,
)
async def put_quota(request: web.Request) -> web.StreamResponse:
    """``PUT /accounts/{account}/quota``: what is not said is as the node says."""
    account, wanted = await _named(request), await read_body(request, WantedQuota)
    quota = Quota(wanted.bytes, wanted.objects, wanted.datasets)
    await request.app[SERVICES].catalog.quotas.set(account.id, quota)
    return json_response(await _state(request, account))


async def _named(request: web.Request) -> Account:
    return await request.app[SERVICES].catalog.accounts.find(AccountName(request.match_info["account"]))


async def _state(request: web.Request, account: Account) -> UsageState:
    services = request.app[SERVICES]
    quota = (await services.catalog.quotas.find(account.id)).or_else(services.settings.quota_limits.account)
    used = await services.catalog.quotas.of_account(account.id)
    return {"used": used.as_dict(), "quota": quota.as_dict()}
