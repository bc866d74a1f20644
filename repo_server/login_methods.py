"""The ways in which a program logs in for a person, by the names that the reference gives them."""

from __future__ import annotations

from typing import Any, Final

import orjson

from catalog.accounts import Account
from opendatafabric.errors import AuthenticationRequired, UnsupportedOperation
from repo_server.counting import checked_password
from repo_server.oidc.external_login import account_of, configured, identity_in, redeemed
from repo_server.services import Services

PASSWORD: Final = "password"
EXTERNAL: Final = "oauth_github"
"""The reference knows one external provider, and has its clients say its name; ours is the issuer that is set."""


def login_methods(services: Services) -> list[str]:
    """Those that are taken here."""
    settings = services.settings
    return [PASSWORD] if settings.oidc_issuer is None or settings.oidc_client_id is None else [PASSWORD, EXTERNAL]


async def account_by(services: Services, method: str, credentials: str, *, address: str) -> Account:
    """Who logs in by ``method``, whatever case it is written in, with ``credentials``, which are JSON.

    Raises:
        UnsupportedOperation: no such method here.
        AuthenticationRequired, MalformedIdentifier, AccessDenied: the credentials do not count.
        TooManyRequests: too many passwords from ``address`` were wrong.
        PeerUnavailable: the issuer does not answer.
    """
    named = method.lower()
    if named not in login_methods(services):
        raise UnsupportedOperation("Unsupported login method", expected=" or ".join(login_methods(services)))
    given = _read(credentials)
    return await (_by_password(services, given, address) if named == PASSWORD else _by_issuer(services, given))


async def _by_password(services: Services, given: dict[str, Any], address: str) -> Account:
    login, password = given.get("login"), given.get("password")
    if not isinstance(login, str) or not isinstance(password, str):
        raise _incomplete()
    return await checked_password(services, login, password, address=address)


async def _by_issuer(services: Services, given: dict[str, Any]) -> Account:
    # A token that says not for whom it was made might have been given to any program of the same issuer.
    configured(services)
    token, code = given.get("accessToken"), given.get("code")
    if isinstance(token, str):
        return await account_of(services, await identity_in(services, token))
    if isinstance(code, str):
        return await account_of(services, await redeemed(services, code))
    raise _incomplete()


def _read(credentials: str) -> dict[str, Any]:
    try:
        given = orjson.loads(credentials)
    except orjson.JSONDecodeError:
        given = None
    if not isinstance(given, dict):
        raise _incomplete()
    return given


def _incomplete() -> AuthenticationRequired:
    return AuthenticationRequired("credentials are not what they should be")
