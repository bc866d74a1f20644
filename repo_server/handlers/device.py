"""Programs that wait for a person to let them in (RFC 8628, as the reference has it), and where clients find the API.

Errors are 400 and say their name in ``message``, not in ``error`` as the RFC has it: the stock client looks there.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web
from typing_extensions import TypedDict

from catalog.device_logins import Refusal
from opendatafabric.login_limits import DEVICE_LOGIN_S, DEVICE_POLL_S
from repo_server.auditing import address_of, whose, write_now
from repo_server.body import read_form
from repo_server.login_methods import login_methods
from repo_server.login_tokens import login_token
from repo_server.openapi.described import FORM, Body, Tag, describes, json
from repo_server.problems import json_response, message
from repo_server.services import SERVICES

BEGIN_PATH: Final = "/platform/token/device/authorization"
TOKEN_PATH: Final = "/platform/token/device"
RUNTIME_PATH: Final = "/assets/runtime-config.json"
LOGIN_PATH: Final = "/v/login"
GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:device_code"
_NOT_KEPT: Final = {"Cache-Control": "no-store"}


class RuntimeConfig(TypedDict):
    """Where the API is."""

    apiServerHttpUrl: str


class UiConfig(RuntimeConfig):
    """Where the API is, and how one may log in."""

    loginMethods: list[str]


class DeviceWanted(TypedDict):
    """The program that wants in."""

    client_id: str


class DeviceLogin(TypedDict):
    """Where the person is to go, and how often to ask meanwhile."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str | None
    expires_in: int
    interval: int


class DeviceTokenWanted(TypedDict):
    """What the program asks again and again."""

    client_id: str
    device_code: str
    grant_type: str


class DeviceToken(TypedDict):
    """The token of a program that was let in; ``score`` is called so by the reference."""

    access_token: str
    token_type: str
    expires_in: int
    refresh_token: str | None
    score: str | None


@describes(Tag.KAMU, json(RuntimeConfig), shown=True)
async def get_runtime_config(request: web.Request) -> web.StreamResponse:
    """``GET /assets/runtime-config.json``: where the API is; the stock client asks before it logs in."""
    return json_response({"apiServerHttpUrl": request.app[SERVICES].base_url})


@describes(Tag.KAMU, json(UiConfig), shown=True)
async def get_ui_config(request: web.Request) -> web.StreamResponse:
    """``GET /ui-config``: the same, and how one may log in."""
    services = request.app[SERVICES]
    return json_response({"apiServerHttpUrl": services.base_url, "loginMethods": login_methods(services)})


@describes(Tag.CORE, json(DeviceLogin), body=Body({FORM: DeviceWanted}, {"client_id": "kamu"}), shown=True)
async def post_authorization(request: web.Request) -> web.StreamResponse:
    """``POST /platform/token/device/authorization``: begin, and say where the person is to go."""
    services = request.app[SERVICES]
    client_id = (await read_form(request, services.settings)).one("client_id").strip()
    if not client_id or not client_id.isprintable():
        return message("invalid_client", HTTPStatus.BAD_REQUEST)
    code = await services.catalog.device_logins.begin(client_id, address_of(request))
    told = {
        "device_code": code,
        "user_code": "",
        "verification_uri": services.base_url + LOGIN_PATH,
        "verification_uri_complete": None,
        "expires_in": DEVICE_LOGIN_S,
        "interval": DEVICE_POLL_S,
    }
    return json_response(told, headers=_NOT_KEPT)


@describes(Tag.CORE, json(DeviceToken), body=Body({FORM: DeviceTokenWanted}))
async def post_token(request: web.Request) -> web.StreamResponse:
    """``POST /platform/token/device``: the token, once the person said yes."""
    services = request.app[SERVICES]
    form = await read_form(request, services.settings)
    client_id, code, grant_type = (form.one(name) for name in ("client_id", "device_code", "grant_type"))
    if grant_type != GRANT_TYPE:
        return message("invalid_grant", HTTPStatus.BAD_REQUEST)
    found = await services.catalog.device_logins.take(code, client_id.strip())
    if isinstance(found, Refusal):
        return message(found.value, HTTPStatus.BAD_REQUEST)
    token = await login_token(services, found)
    await write_now(request, client=client_id, **whose(found))
    told = {
        "access_token": token.text,
        "token_type": "Bearer",
        "expires_in": int(token.lasts_s),
        "refresh_token": None,
        "score": None,
    }
    return json_response(told, headers=_NOT_KEPT)
