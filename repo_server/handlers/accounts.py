"""The accounts of the node, for administrators; and the password, for whoever it belongs to."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final, Literal

from aiohttp import web
from pydantic import SecretStr

from catalog.account_changes import AccountChange, change_account
from catalog.accounts import Account, AccountKind, Accounts
from opendatafabric.errors import AccessDenied, AuthenticationRequired, MalformedInput
from opendatafabric.names import AccountName
from repo_server.account_states import AccountState, TokenState, plain_account, plain_token
from repo_server.body_forms import JsonBody, read_body
from repo_server.gate import CALLER
from repo_server.openapi.described import JSON, Body, Parameter, Tag, describes, empty, json
from repo_server.problems import json_response
from repo_server.services import SERVICES

_ACCOUNT: Final = "account"
_LISTED: Final = 100
_LISTED_MAX: Final = 1_000


class NewAccount(JsonBody):
    """``password`` lets a user log in with it."""

    account_name: str
    kind: Literal["user", "organization"] = "user"
    password: SecretStr | None = None
    is_admin: bool = False


class WantedChange(JsonBody):
    """What is not said stays."""

    account_name: str | None = None
    password: SecretStr | None = None
    is_admin: bool | None = None
    disabled: bool | None = None


class PasswordChange(JsonBody):
    """``password`` is the one before."""

    password: SecretStr
    new_password: SecretStr


_AFTER: Final = Parameter("after", "only accounts after this name", value="alice")
_CONFIRMED: Final = Parameter("accountName", "one's own, so that none ends by mistake", value="alice")
_LIMIT: Final = Parameter("limit", f"at most so many; {_LISTED} if not given", {"type": "integer"}, value=10)


@describes(Tag.REPOSITORY, json(list[AccountState]), parameters=(_AFTER, _LIMIT), shown=True)
async def get_accounts(request: web.Request) -> web.StreamResponse:
    """``GET /accounts``, by name; ``Link`` leads to the rest."""
    limit = _limit(request)
    found = await _accounts(request).list(after=request.query.get("after", ""), limit=limit + 1)
    headers = {}
    if len(found) > limit:
        rest = request.rel_url.update_query(after=found[limit - 1].name[:], limit=limit)
        headers["Link"] = f'<{rest}>; rel="next"'
    return json_response([plain_account(account) for account in found[:limit]], headers=headers)


@describes(
    Tag.REPOSITORY,
    json(AccountState, HTTPStatus.CREATED),
    refuses=(HTTPStatus.CONFLICT, HTTPStatus.NOT_IMPLEMENTED),
    body=Body({JSON: NewAccount}, {"accountName": "carol"}),
    shown=True,
)
async def post_account(request: web.Request) -> web.StreamResponse:
    """``POST /accounts``."""
    wanted = await read_body(request, NewAccount)
    made = await _accounts(request).create(
        AccountName(wanted.account_name),
        password=None if wanted.password is None else wanted.password.get_secret_value(),
        is_admin=wanted.is_admin,
        kind=AccountKind(wanted.kind),
    )
    return json_response(plain_account(made), status=HTTPStatus.CREATED)


@describes(Tag.REPOSITORY, json(AccountState), refuses=(HTTPStatus.NOT_FOUND,), shown=True)
async def get_account(request: web.Request) -> web.StreamResponse:
    """``GET /accounts/{account}``."""
    return json_response(plain_account(await _named(request)))


@describes(
    Tag.REPOSITORY,
    json(AccountState),
    refuses=(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.NOT_IMPLEMENTED),
    body=Body({JSON: WantedChange}, {"disabled": True}),
    shown={"account": "carol"},
)
async def patch_account(request: web.Request) -> web.StreamResponse:
    """``PATCH /accounts/{account}``: its name, its password, whether it administers, whether it is disabled."""
    account, wanted = await _named(request), await read_body(request, WantedChange)
    services = request.app[SERVICES]
    if wanted.account_name is not None:
        account = await services.account_lifecycle.rename(
            account, AccountName(wanted.account_name), by=_caller(request).id
        )
    password = None if wanted.password is None else wanted.password.get_secret_value()
    change = AccountChange(wanted.is_admin, wanted.disabled, password)
    return json_response(plain_account(await change_account(services.catalog, account.name, change)))


@describes(
    Tag.REPOSITORY,
    empty(HTTPStatus.NO_CONTENT),
    refuses=(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT),
    shown={"account": "dan"},
)
async def delete_account(request: web.Request) -> web.StreamResponse:
    """``DELETE /accounts/{account}``: its tokens and sessions end at once; one that owns datasets stays."""
    await request.app[SERVICES].account_lifecycle.delete(await _named(request), by=_caller(request).id)
    return web.Response(status=HTTPStatus.NO_CONTENT)


@describes(Tag.REPOSITORY, empty(HTTPStatus.NO_CONTENT), refuses=(HTTPStatus.CONFLICT,), parameters=(_CONFIRMED,))
async def delete_me(request: web.Request) -> web.StreamResponse:
    """``DELETE /accounts/me?accountName=…``: the caller's own, if the caller says whose that is."""
    account = _caller(request)
    if request.query.get("accountName") != account.name[:]:
        raise MalformedInput("say which account ends", expected=f"?accountName={account.name}")
    await request.app[SERVICES].account_lifecycle.delete(account, by=account.id)
    return web.Response(status=HTTPStatus.NO_CONTENT)


@describes(Tag.REPOSITORY, json(list[TokenState]), refuses=(HTTPStatus.NOT_FOUND,), shown=True)
async def get_tokens_of(request: web.Request) -> web.StreamResponse:
    """``GET /accounts/{account}/tokens``."""
    services, account = request.app[SERVICES], await _named(request)
    found = await services.catalog.tokens.list(account)
    return json_response([plain_token(info, services.now()) for info in found])


@describes(Tag.REPOSITORY, empty(HTTPStatus.NO_CONTENT), refuses=(HTTPStatus.NOT_FOUND,))
async def delete_token_of(request: web.Request) -> web.StreamResponse:
    """``DELETE /accounts/{account}/tokens/{token_id}``."""
    tokens = request.app[SERVICES].catalog.tokens
    await tokens.revoke(request.match_info["token_id"], of=await _named(request))
    return web.Response(status=HTTPStatus.NO_CONTENT)


@describes(
    Tag.REPOSITORY,
    empty(HTTPStatus.NO_CONTENT),
    body=Body({JSON: PasswordChange}, {"password": "the one before", "newPassword": "another one"}),
)
async def put_password(request: web.Request) -> web.StreamResponse:
    """``PUT /accounts/me/password``: with the one before, so that a token alone does not suffice."""
    account, wanted = _caller(request), await read_body(request, PasswordChange)
    try:
        await _accounts(request).check_password(account.name, wanted.password.get_secret_value())
    except AuthenticationRequired:
        raise AccessDenied("the password is another one") from None
    change = AccountChange(password=wanted.new_password.get_secret_value())
    await change_account(request.app[SERVICES].catalog, account.name, change)
    return web.Response(status=HTTPStatus.NO_CONTENT)


def _limit(request: web.Request) -> int:
    text = request.query.get("limit", str(_LISTED))
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= _LISTED_MAX):
        raise MalformedInput(f"limit is a number from 1 to {_LISTED_MAX}", found=text[:100])
    return int(text)


def _caller(request: web.Request) -> Account:
    account = request[CALLER].account
    assert account is not None  # nobody else is let through
    return account


async def _named(request: web.Request) -> Account:
    return await _accounts(request).find(AccountName(request.match_info[_ACCOUNT]))


def _accounts(request: web.Request) -> Accounts:
    return request.app[SERVICES].catalog.accounts
