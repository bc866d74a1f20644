"""The tokens of whoever calls: listed, made and revoked with a token that is good for ``accounts:manage``."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from aiohttp import web
from pydantic import Field
from typing_extensions import TypedDict

from catalog.scopes import DEFAULT_SCOPES, Scope, parse_patterns
from catalog.token_text import parse_token
from catalog.tokens import Authenticated
from opendatafabric.errors import MalformedInput
from repo_server.account_states import TokenState, plain_token
from repo_server.body_forms import JsonBody, read_body
from repo_server.gate import CALLER
from repo_server.openapi.described import JSON, Body, Tag, describes, empty, json
from repo_server.problems import json_response
from repo_server.services import SERVICES, Services

_DAY_S: Final = 86_400


class NewToken(JsonBody):
    """``expires_in_s``: how long it is good, in seconds."""

    scopes: tuple[str, ...] = Field((), strict=False)
    datasets: tuple[str, ...] = Field((), strict=False)
    expires_in_s: float | None = Field(None, gt=0, allow_inf_nan=False)


class MadeToken(TypedDict):
    """``token`` is not kept, and cannot be had again."""

    id: str
    token: str
    expiresInS: float


@describes(Tag.REPOSITORY, json(list[TokenState]), shown=True)
async def get_tokens(request: web.Request) -> web.StreamResponse:
    """``GET /accounts/me/tokens``."""
    services, own = request.app[SERVICES], _known(request)
    found = await services.catalog.tokens.list(own.account)
    return json_response([plain_token(info, services.now()) for info in found])


@describes(
    Tag.REPOSITORY,
    json(MadeToken, HTTPStatus.CREATED),
    body=Body({JSON: NewToken}, {"scopes": ["datasets:push"], "datasets": ["alice/net.*"], "expiresInS": 3600}),
    shown=True,
)
async def post_token(request: web.Request) -> web.StreamResponse:
    """``POST /accounts/me/tokens``: one that is good for nothing that the caller's is not good for."""
    services, own = request.app[SERVICES], _known(request)
    wanted = await read_body(request, NewToken)
    scopes = frozenset(map(Scope.from_text, wanted.scopes)) or DEFAULT_SCOPES
    datasets = parse_patterns(wanted.datasets)
    own.check_may_give(scopes, datasets)
    lasts_s = _lasts_s(services, wanted)
    text = await services.catalog.tokens.create(
        own.account, scopes, datasets=datasets, expires_at=services.now() + lasts_s
    )
    told = {"id": parse_token(text).token_id, "token": text, "expiresInS": lasts_s}
    return json_response(told, status=HTTPStatus.CREATED, headers={"Cache-Control": "no-store"})


@describes(Tag.REPOSITORY, empty(HTTPStatus.NO_CONTENT), refuses=(HTTPStatus.NOT_FOUND,))
async def delete_token(request: web.Request) -> web.StreamResponse:
    """``DELETE /accounts/me/tokens/{token_id}``: it ends at once, also the one that is used for that."""
    tokens = request.app[SERVICES].catalog.tokens
    await tokens.revoke(request.match_info["token_id"], of=_known(request).account)
    return web.Response(status=HTTPStatus.NO_CONTENT)


def _lasts_s(services: Services, wanted: NewToken) -> float:
    settings = services.settings
    if wanted.expires_in_s is None:
        return min(settings.token_days, settings.token_days_max) * _DAY_S
    if wanted.expires_in_s > settings.token_days_max * _DAY_S:
        raise MalformedInput(
            "a token is not good for so long", expected=f"expiresInS of at most {settings.token_days_max * _DAY_S:g}"
        )
    return wanted.expires_in_s


def _known(request: web.Request) -> Authenticated:
    known = request[CALLER].authenticated
    assert known is not None  # nobody else is let through
    return known
