"""Who is calling: the bearer token of a request, read by the rules of the protocol.

A header that is no bearer token is a bad request everywhere. A token that is no good makes the caller anonymous *with a
reason*, and only some routes refuse such a caller.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from aiohttp import web

from catalog.accounts import Account
from catalog.scopes import Scope
from catalog.tokens import Authenticated, Tokens
from opendatafabric.errors import AuthenticationRequired
from repo_server.problems import Refused, plain
from repo_server.remembered import Remembered

NO_TOKEN: Final = "No authentication token provided"
_TOKEN_CHARS_MAX: Final = 8_000
"""Longest token looked at; longer header lines are refused before."""


@dataclass(frozen=True, slots=True)
class Caller:
    """``authenticated`` is ``None`` for anonymous callers; ``reason`` says why a token that was given did not count."""

    authenticated: Authenticated | None = None
    token: str | None = field(default=None, repr=False)
    reason: str | None = None

    @property
    def account(self) -> Account | None:
        return None if self.authenticated is None else self.authenticated.account

    @property
    def reader(self) -> Account | None:
        """Who is shown lists: tokens that are not good for all that their account may see show what is public."""
        known = self.authenticated
        return None if known is None or known.datasets or Scope.DATASETS_READ not in known.scopes else known.account


ANONYMOUS: Final = Caller()
CALLED: Final = web.RequestKey("called", Caller)
"""Where a request keeps who sent it, also when it is refused then."""


class Identities:
    """From requests to callers."""

    def __init__(self, tokens: Tokens, version: Callable[[], Hashable | None]) -> None:
        self._tokens = tokens
        self._known: Remembered[bytes, Authenticated] = Remembered(version)
        self._listening: Counter[str | None] = Counter()

    async def caller_of(self, request: web.Request) -> Caller:
        """Who sent ``request``; ``Refused`` as in ``bearer_token``."""
        if CALLED not in request:
            request[CALLED] = await self._caller(bearer_token(request))
        return request[CALLED]

    async def caller_now(self, request: web.Request) -> Caller:
        """Who sent ``request``, as far as that still holds: a token may end while an answer goes on."""
        request[CALLED] = await self._caller(bearer_token(request))
        return request[CALLED]

    @contextmanager
    def listening(self, request: web.Request) -> Iterator[None]:
        """The token of ``request`` is looked at again with all others of those who listen, while it goes on."""
        token = bearer_token(request)
        self._listening[token] += 1
        try:
            yield
        finally:
            self._listening[token] -= 1
            if not self._listening[token]:
                del self._listening[token]

    async def look_at_listeners(self) -> None:
        """Know whose tokens still count of those who listen, by one question for all."""
        by_token = {text: _name_of(text) for text in self._listening if text is not None}
        if by_token:
            await self._known.ask_all(lambda: self._counting(by_token))

    async def _counting(self, by_token: Mapping[str, bytes]) -> dict[bytes, Authenticated]:
        return {by_token[text]: known for text, known in (await self._tokens.authenticate_all(by_token)).items()}

    async def settle(self) -> None:
        """Wait for what is being looked up, so that the catalog may be closed."""
        await self._known.settle()

    async def _caller(self, token: str | None) -> Caller:
        if token is None:
            return ANONYMOUS
        try:
            return Caller(await self._authenticated(token), token)
        except AuthenticationRequired as error:
            return Caller(token=token, reason=error.message)

    async def _authenticated(self, token: str) -> Authenticated:
        return await self._known.ask(_name_of(token), lambda: self._tokens.authenticate(token))


def _name_of(token: str) -> bytes:
    """Tokens are looked up by hash: how long a comparison takes then says nothing about them."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()


def bearer_token(request: web.Request) -> str | None:
    """The token of ``request``, if it has one.

    Raises:
        Refused: an ``Authorization`` header that is not one non-empty bearer token.
    """
    headers = request.headers.getall("Authorization", [])
    if not headers:
        return None
    scheme, _, token = headers[0].strip().partition(" ")
    token = token.strip()
    if len(headers) > 1 or scheme.lower() != "bearer" or not token or len(token) > _TOKEN_CHARS_MAX:
        raise Refused(plain("Invalid Bearer token header", HTTPStatus.BAD_REQUEST))
    return token
