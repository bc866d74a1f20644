"""Who is calling: the bearer token of a request, read by the rules of the protocol.

A header that is no bearer token is a bad request everywhere. A token that is no good makes the caller anonymous *with a
reason*, and only some routes refuse such a caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web

from catalog.accounts import Account
from catalog.tokens import Authenticated, Tokens
from opendatafabric.errors import AuthenticationRequired
from repo_server.problems import Refused, text_error

TOKEN_CHARS_MAX = 8_192
"""Longest token looked at: an aiohttp header is no longer anyway."""


@dataclass(frozen=True, slots=True)
class Caller:
    """``authenticated`` is ``None`` for anonymous callers; ``reason`` says why a given token did not count."""

    authenticated: Authenticated | None = None
    token: str | None = None
    reason: str | None = None

    @property
    def account(self) -> Account | None:
        return None if self.authenticated is None else self.authenticated.account

    def __repr__(self) -> str:
        return f"Caller({self.account}, {self.reason})"


ANONYMOUS = Caller()


def bearer_token(request: web.Request) -> str | None:
    """The token of the request, if it has one.

    Raises:
        Refused: an ``Authorization`` header that is not one non-empty bearer token.
    """
    headers = request.headers.getall("Authorization", [])
    if not headers:
        return None
    scheme, _, token = headers[0].strip().partition(" ")
    token = token.strip()
    if len(headers) > 1 or scheme.lower() != "bearer" or not token or len(token) > TOKEN_CHARS_MAX:
        raise Refused(text_error(HTTPStatus.BAD_REQUEST, "Invalid Bearer token header"))
    return token


async def identify(request: web.Request, tokens: Tokens) -> Caller:
    """The caller of ``request``; errors as ``bearer_token``."""
    token = bearer_token(request)
    if token is None:
        return ANONYMOUS
    try:
        return Caller(await tokens.authenticate(token), token)
    except AuthenticationRequired as error:
        return Caller(token=token, reason=error.message)
