"""Who one is: login with a password, and what a token is worth (spec: nothing; the reference's platform routes)."""

from __future__ import annotations

from http import HTTPStatus

from aiohttp import web
from typing_extensions import TypedDict

from opendatafabric.errors import AccessDenied, AuthenticationRequired, MalformedIdentifier, UnsupportedOperation
from repo_server.auditing import address_of, tell, whose
from repo_server.body import read_json
from repo_server.gate import CALLER, Refused
from repo_server.identity import NO_TOKEN
from repo_server.login_methods import account_by
from repo_server.login_tokens import login_token
from repo_server.openapi.described import JSON, Body, Tag, describes, empty, json
from repo_server.problems import json_response, message, plain
from repo_server.services import SERVICES


class Me(TypedDict):
    """An account."""

    id: str
    accountName: str


class LoginWanted(TypedDict):
    """``loginCredentialsJson`` is JSON in a text: ``{"login", "password"}``."""

    loginMethod: str
    loginCredentialsJson: str


class LoggedIn(TypedDict):
    """A new token."""

    accessToken: str


@describes(Tag.CORE, json(Me), shown=True)
async def get_me(request: web.Request) -> web.StreamResponse:
    """``GET /accounts/me``."""
    account = request[CALLER].account
    assert account is not None  # nobody else is let through
    return json_response({"id": str(account.id), "accountName": account.name[:]})


@describes(Tag.CORE, empty(), refuses=(HTTPStatus.UNAUTHORIZED,), shown=True)
async def get_validate(request: web.Request) -> web.StreamResponse:
    """``GET /platform/token/validate``."""
    caller = request[CALLER]
    if caller.account is None:
        return message(caller.reason or NO_TOKEN, HTTPStatus.UNAUTHORIZED)
    return web.Response()


@describes(
    Tag.CORE,
    json(LoggedIn),
    refuses=(HTTPStatus.UNAUTHORIZED, HTTPStatus.BAD_GATEWAY),
    body=Body({JSON: LoginWanted}, {"loginMethod": "password", "loginCredentialsJson": '{"login": …, "password": …}'}),
)
async def post_login(request: web.Request) -> web.StreamResponse:
    """``POST /platform/login``: by a password, or by what the issuer gave."""
    services = request.app[SERVICES]
    body = await read_json(request, services.settings)
    method, credentials = (_text_field(body, name) for name in ("loginMethod", "loginCredentialsJson"))
    try:
        account = await account_by(services, method, credentials, address=address_of(request))
    except UnsupportedOperation as error:
        return message(error.message, HTTPStatus.BAD_REQUEST)
    except (AuthenticationRequired, AccessDenied, MalformedIdentifier):
        return message("Invalid credentials", HTTPStatus.UNAUTHORIZED)
    tell(request, method=method.lower(), **whose(account))
    return json_response({"accessToken": (await login_token(services, account)).text})


def _text_field(body: dict[str, object], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise Refused(plain(f"missing field `{name}`", HTTPStatus.UNPROCESSABLE_ENTITY))
    return value
