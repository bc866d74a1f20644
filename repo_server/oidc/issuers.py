"""Issuers of identities (OpenID Connect Discovery): where they answer, and the keys that they sign with.

An issuer that the operator set may lie anywhere. One that somebody else named is asked over https and at public
addresses only. None may send us on elsewhere, and what it says is bounded. Keys are kept for a while; a token that
names another key has them fetched anew, but not more often than once in a while.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import aiohttp
import orjson
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from yarl import URL

from opendatafabric.errors import AuthenticationRequired, LimitExceeded, PeerUnavailable
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.login_limits import (
    ISSUER_ANSWER_BYTES_MAX,
    ISSUER_ANSWER_S_MAX,
    ISSUER_KEYS_ASKED_S,
    ISSUER_KEYS_FRESH_S,
    ISSUER_KEYS_MAX,
    ISSUERS_MAX,
)
from storage.public_addresses import Sockets
from storage.reading import joined

_DISCOVERY: Final = "/.well-known/openid-configuration"
_KEY_TYPES: Final = frozenset({"RSA", "EC", "OKP"})
"""Keys that have a public half: of any other kind, whoever could check a signature could make one."""

_TIMEOUT: Final = aiohttp.ClientTimeout(total=ISSUER_ANSWER_S_MAX)


@dataclass(slots=True)
class Issuer:
    """What is known of one; ``endpoints`` as its discovery document has them."""

    address: str
    endpoints: Mapping[str, str]
    keys: KeySet
    asked_at: float


@dataclass(slots=True)
class Issuers:
    """Those that were asked by this process. ``own`` are those of the operator; ``now`` in seconds."""

    own: frozenset[str] = frozenset()
    now: Callable[[], float] = time.monotonic
    _known: OrderedDict[str, Issuer] = field(default_factory=OrderedDict)
    _asking: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def issuer(self, address: str) -> Issuer:
        """The issuer at ``address``.

        Raises:
            AuthenticationRequired: it is none, or none that may be asked.
            PeerUnavailable: it does not answer.
        """
        return await self._fresh(address, lambda known: self.now() - known.asked_at < ISSUER_KEYS_FRESH_S)

    async def with_key(self, address: str, kid: str | None) -> Issuer:
        """The same, asked anew if it is not known to have that key."""
        found = await self.issuer(address)
        if kid is None or any(key.kid == kid for key in found.keys):
            return found
        return await self._fresh(address, lambda known: self.now() - known.asked_at < ISSUER_KEYS_ASKED_S)

    async def post(
        self, address: str, url: str, fields: Mapping[str, str], headers: Mapping[str, str]
    ) -> dict[str, Any]:
        """What the issuer answers to a form; errors as ``issuer``."""
        return await self._asked(address, "POST", url, fields=fields, headers=headers)

    async def _fresh(self, address: str, is_fresh: Callable[[Issuer], bool]) -> Issuer:
        async with self._asking.setdefault(address, asyncio.Lock()):
            known = self._known.get(address)
            if known is None or not is_fresh(known):
                known = self._known[address] = await self._discovered(address)
            self._known.move_to_end(address)
        while len(self._known) > ISSUERS_MAX:
            gone, _ = self._known.popitem(last=False)
            self._asking.pop(gone, None)
        return known

    async def _discovered(self, address: str) -> Issuer:
        told = await self._asked(address, "GET", address.rstrip("/") + _DISCOVERY)
        if told.get("issuer") != address:
            raise AuthenticationRequired(f"{_named(address)} is no issuer of that name", found=told.get("issuer"))
        endpoints = {name: value for name, value in told.items() if isinstance(value, str)}
        keys = await self._asked(address, "GET", endpoints.get("jwks_uri", ""))
        return Issuer(address, endpoints, _key_set(address, keys), self.now())

    async def _asked(
        self, address: str, method: str, url: str, *, fields: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        is_own = address in self.own
        _check_address(address, url, insecure=is_own)
        sockets = Sockets(private_places=is_own)
        try:
            async with (
                aiohttp.ClientSession(connector=sockets.connector(), timeout=_TIMEOUT) as session,
                session.request(method, url, data=fields, headers=headers, allow_redirects=False) as response,
            ):
                chunks = response.content.iter_chunked(READ_CHUNK_BYTES)
                raw = await joined(_named(url), chunks, size_max=ISSUER_ANSWER_BYTES_MAX)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            if sockets.refused:
                raise AuthenticationRequired(f"the issuer {_named(url)} is at no public address") from None
            raise PeerUnavailable(f"the issuer {_named(url)} does not answer: {type(error).__name__}") from None
        except LimitExceeded as error:
            raise PeerUnavailable(error.message, expected=error.expected) from None
        return _read(url, response.status, raw)


def unproved_claims(token: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Header and claims of a token as they stand there, good for nothing but to find out whom to ask.

    Raises:
        AuthenticationRequired: it is no token.
    """
    parts = token.split(".")
    try:
        header, claims = (orjson.loads(_decoded(part)) for part in parts[:2])
    except ValueError:
        header = claims = None
    if len(parts) != 3 or not isinstance(header, dict) or not isinstance(claims, dict):
        raise AuthenticationRequired("this is no token of an issuer")
    return header, claims


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part.encode() + b"=" * (-len(part) % 4))


def _check_address(address: str, url: str, *, insecure: bool) -> None:
    try:
        parsed = URL(url)
    except ValueError:
        parsed = URL()
    schemes = {"https", "http"} if insecure else {"https"}
    if parsed.scheme not in schemes or not parsed.host or parsed.user is not None:
        raise AuthenticationRequired(f"the issuer {_named(address)} is no web address", expected="https://…")


def _read(url: str, status: int, raw: bytes) -> dict[str, Any]:
    try:
        told = orjson.loads(raw)
    except ValueError:
        told = None
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise PeerUnavailable(f"the issuer {_named(url)} answers {status}")
    if status != HTTPStatus.OK or not isinstance(told, dict):
        raise AuthenticationRequired(f"the issuer {_named(url)} answers {status}, not as issuers do")
    return told


def _key_set(address: str, told: Mapping[str, Any]) -> KeySet:
    keys = told.get("keys")
    usable = [each for each in keys if _is_usable(each)] if isinstance(keys, list) else []
    if not usable or len(usable) > ISSUER_KEYS_MAX:
        raise AuthenticationRequired(f"the issuer {_named(address)} has no keys", expected=f"1 to {ISSUER_KEYS_MAX}")
    try:
        return KeySet.import_key_set({"keys": usable})
    except (JoseError, ValueError, TypeError, KeyError):
        raise AuthenticationRequired(f"the issuer {_named(address)} has keys that are none") from None


def _is_usable(key: object) -> bool:
    return isinstance(key, dict) and key.get("kty") in _KEY_TYPES and key.get("use", "sig") == "sig" and "d" not in key


def _named(url: str) -> str:
    try:
        return str(URL(url).with_query(None).with_fragment(None).with_user(None))[:200]
    except ValueError:
        return "of the token"
