"""Trusted publishers of a dataset, kept by its owners; and the exchange by which their runs get a token (RFC 8693)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final, NotRequired

from aiohttp import web
from typing_extensions import TypedDict

from catalog.publishers import Trust
from opendatafabric.errors import MalformedInput
from repo_server.auditing import tell, whose
from repo_server.body import Form, read_form, read_json
from repo_server.gate import VISIT
from repo_server.oidc.exchange import exchanged
from repo_server.openapi.described import FORM, JSON, Body, Tag, describes, empty, json
from repo_server.problems import json_response
from repo_server.publisher_states import plain_publisher
from repo_server.services import SERVICES

EXCHANGE_PATH: Final = "/platform/token/exchange"
GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_TOKEN_TYPES: Final = frozenset({"urn:ietf:params:oauth:token-type:jwt", "urn:ietf:params:oauth:token-type:id_token"})
_ISSUED_TYPE: Final = "urn:ietf:params:oauth:token-type:access_token"


class PublisherWanted(TypedDict):
    """Whose runs are trusted; without an audience their tokens are made for the address of this server."""

    issuer: str
    claims: dict[str, str]
    audience: NotRequired[str | None]


class PublisherShown(PublisherWanted):
    """A publisher, and when it was trusted."""

    id: str
    createdAt: str


class PublisherList(TypedDict):
    """All of a dataset."""

    publishers: list[PublisherShown]


class ExchangeWanted(TypedDict):
    """The token of a run."""

    grant_type: str
    subject_token: str
    subject_token_type: str
    dataset: NotRequired[str]


class ExchangedToken(TypedDict):
    """A token to push with; ``datasets`` are those that it is good for."""

    access_token: str
    issued_token_type: str
    token_type: str
    expires_in: int
    scope: str
    datasets: list[str]


_EXAMPLE: Final = {"issuer": "https://ci.example.org", "claims": {"repository": "alice/weather"}}


@describes(Tag.REPOSITORY, json(PublisherList), shown=True)
async def get_publishers(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/publishers``."""
    found = request[VISIT]
    known = await found.services.catalog.publishers.of(found.dataset.entry.id)
    return json_response({"publishers": [plain_publisher(each) for each in known]})


@describes(
    Tag.REPOSITORY, json(PublisherShown, HTTPStatus.CREATED), body=Body({JSON: PublisherWanted}, _EXAMPLE), shown=True
)
async def post_publisher(request: web.Request) -> web.StreamResponse:
    """``POST /{dataset}/publishers``: from now on those runs may push, as the account that says so."""
    found = request[VISIT]
    trust = _trust_in(await read_json(request, found.services.settings))
    account = found.caller.account
    assert account is not None  # nobody else is let through
    made = await found.services.catalog.publishers.add(found.dataset.entry.id, account.id, trust)
    return json_response(plain_publisher(made), status=HTTPStatus.CREATED)


@describes(Tag.REPOSITORY, empty(HTTPStatus.NO_CONTENT))
async def delete_publisher(request: web.Request) -> web.StreamResponse:
    """``DELETE /{dataset}/publishers/{publisher}``."""
    found = request[VISIT]
    await found.services.catalog.publishers.remove(found.dataset.entry.id, request.match_info["publisher"])
    return web.Response(status=HTTPStatus.NO_CONTENT)


@describes(
    Tag.REPOSITORY,
    json(ExchangedToken),
    refuses=(HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.BAD_GATEWAY),
    body=Body({FORM: ExchangeWanted}),
)
async def post_exchange(request: web.Request) -> web.StreamResponse:
    """``POST /platform/token/exchange``: a token to push with, for the token of a run."""
    services = request.app[SERVICES]
    form = await read_form(request, services.settings)
    _check_kinds(form)
    made = await exchanged(services, form.one("subject_token"), next(iter(form.all("dataset")), None))
    datasets = [str(alias) for alias in made.datasets]
    tell(request, issuer=made.run["iss"], run=made.run["sub"], datasets=datasets, **whose(made.account))
    told = {
        "access_token": made.text,
        "issued_token_type": _ISSUED_TYPE,
        "token_type": "Bearer",
        "expires_in": int(made.lasts_s),
        "scope": "datasets:push",
        "datasets": datasets,
    }
    return json_response(told, headers={"Cache-Control": "no-store"})


def _check_kinds(form: Form) -> None:
    if form.one("grant_type") != GRANT_TYPE:
        raise MalformedInput("this is the exchange of a token", expected=f"grant_type={GRANT_TYPE}")
    if form.one("subject_token_type") not in _TOKEN_TYPES:
        raise MalformedInput("tokens of issuers are taken", expected=f"subject_token_type={min(_TOKEN_TYPES)}")


def _trust_in(body: dict[str, object]) -> Trust:
    issuer, claims, audience = (body.get(name) for name in ("issuer", "claims", "audience"))
    is_plain = isinstance(claims, dict) and all(isinstance(value, str) for value in claims.values())
    if not isinstance(issuer, str) or not is_plain or not isinstance(audience, str | None):
        raise MalformedInput("a publisher has an issuer and claims, which are texts", expected='{"issuer", "claims"}')
    if set(body) - {"issuer", "claims", "audience"}:
        raise MalformedInput("a publisher has no more than issuer, claims and audience")
    return Trust(issuer, _texts(claims), audience or None)


def _texts(claims: Any) -> dict[str, str]:
    return dict(claims)
