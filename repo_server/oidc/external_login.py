"""A login at the issuer that the operator set: where a browser is sent, and who came back (authorization code, PKCE).

What belongs to one login follows from a random text and the session of the browser: nothing has to be kept, every
server process can end a login that another one began, and it cannot be ended in another browser, or twice: the session
is another one afterwards.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote_plus

import orjson
from yarl import URL

from catalog.accounts import Account
from opendatafabric.errors import AccessDenied, AuthenticationRequired, NotFound, StorageError, UnsupportedOperation
from opendatafabric.login_limits import EXTERNAL_LOGIN_S
from repo_server.oidc.claims import account_name, check_domain, meets
from repo_server.oidc.tokens import Claims, check_party, proved_claims
from repo_server.services import Services
from repo_server.sessions import Session

CALLBACK_PATH: Final = "/v/oidc/callback"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One login of one browser; ``state`` goes to the issuer and comes back, the rest stays here."""

    session: Session
    state: str = field(repr=False)
    onward: str

    @property
    def nonce(self) -> str:
        """What the issuer puts into the token."""
        return _derived(self.session, "nonce", self.state)

    @property
    def verifier(self) -> str:
        """What proves to the issuer that the code is redeemed by who asked for it."""
        return _derived(self.session, "verifier", self.state)


def begun(session: Session, onward: str, *, now: float) -> Attempt:
    """A new attempt."""
    told = [secrets.token_urlsafe(16), int(now + EXTERNAL_LOGIN_S), onward]
    payload = _encoded(orjson.dumps(told))
    return Attempt(session, f"{payload}.{_derived(session, 'state', payload)}", onward)


def resumed(session: Session, state: str, *, now: float) -> Attempt:
    """The attempt that ``state`` is of.

    Raises:
        AuthenticationRequired: it was not begun with this browser, or too long ago.
    """
    payload, _, proof = state.partition(".")
    expected = _derived(session, "state", payload)
    if session.is_new or not hmac.compare_digest(proof.encode(errors="replace"), expected.encode()):
        raise AuthenticationRequired("this login was not begun with this browser", hint="begin it again")
    _, ends_at, onward = orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    if now >= ends_at:
        raise AuthenticationRequired("this login took too long", hint="begin it again")
    return Attempt(session, state, onward)


async def issuer_page(services: Services, attempt: Attempt) -> str:
    """Where the browser is to go; errors as ``Issuers.issuer``."""
    address, client_id = configured(services)
    issuer = await services.issuers.issuer(address)
    challenge = _encoded(hashlib.sha256(attempt.verifier.encode()).digest())
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": services.base_url + CALLBACK_PATH,
        "scope": " ".join(services.settings.oidc_scopes),
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    return str(URL(issuer.endpoints.get("authorization_endpoint", "")).update_query(query))


async def redeemed(services: Services, code: str, attempt: Attempt | None = None) -> Claims:
    """Who the issuer says came back with ``code``; without an attempt, as clients of the reference log in, its token
    is bound to no browser.

    Raises:
        AuthenticationRequired: the code or the token that it gives does not count.
        PeerUnavailable: the issuer does not answer.
    """
    address, client_id = configured(services)
    issuer = await services.issuers.issuer(address)
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": services.base_url + CALLBACK_PATH}
    if attempt is not None:
        fields["code_verifier"] = attempt.verifier
    secret = await _secret(services)
    headers = {} if secret is None else {"Authorization": _basic(client_id, secret)}
    if secret is None:
        fields["client_id"] = client_id
    told = await services.issuers.post(address, issuer.endpoints.get("token_endpoint", ""), fields, headers)
    claims = await identity_in(services, _text(told, "id_token"))
    if attempt is not None and claims.get("nonce") != attempt.nonce:
        raise AuthenticationRequired("the token of the issuer does not count: it is of another login")
    return claims


async def identity_in(services: Services, token: str) -> Claims:
    """What a token of the issuer says that was made for this server; errors as ``redeemed``."""
    address, client_id = configured(services)
    claims = await proved_claims(services.issuers, token, issuer=address, audience=client_id, now=services.now)
    check_party(claims, client_id)
    return claims


async def account_of(services: Services, claims: Claims) -> Account:
    """Whose identity that is; the first time it comes, a new account where the settings allow that.

    Raises:
        AccessDenied: it is not let in.
    """
    settings, identities = services.settings, services.catalog.external_identities
    check_domain(claims, settings.oidc_allowed_domains)
    if not meets(claims, settings.oidc_required_claims):
        raise AccessDenied("this identity is not let in here: it lacks a claim that is required")
    issuer, subject = claims["iss"], claims["sub"]
    try:
        account = await identities.find(issuer, subject)
    except NotFound:
        if not settings.oidc_create_accounts:
            raise AccessDenied("this identity has no account here", hint="ask the operator for one") from None
        name = account_name(claims, settings.oidc_name_claim)
        account = await identities.find_or_create(issuer, subject, name)
    if account.disabled:
        raise AccessDenied("this account is disabled")
    return account


def configured(services: Services) -> tuple[str, str]:
    """Issuer, and what we are called there; ``UnsupportedOperation`` where none is set."""
    settings = services.settings
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        raise UnsupportedOperation("this server has no issuer to log in at", hint="set ODF_OIDC_ISSUER and _CLIENT_ID")
    return settings.oidc_issuer, settings.oidc_client_id


async def _secret(services: Services) -> str | None:
    settings = services.settings
    if settings.oidc_client_secret is not None:
        return settings.oidc_client_secret.get_secret_value()
    path = settings.oidc_client_secret_file
    try:
        return None if path is None else (await asyncio.to_thread(path.read_text)).strip()
    except OSError as error:
        raise StorageError(f"setting oidc_client_secret_file: {path} cannot be read: {error.strerror}") from None


def _basic(client_id: str, secret: str) -> str:
    pair = f"{quote_plus(client_id)}:{quote_plus(secret)}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _derived(session: Session, purpose: str, text: str) -> str:
    made = hmac.digest(session.id.encode(errors="replace"), f"{purpose} of {text}".encode(errors="replace"), "sha256")
    return _encoded(made)


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _text(told: dict[str, Any], name: str) -> str:
    value = told.get(name)
    if not isinstance(value, str):
        raise AuthenticationRequired(f"the issuer gave no {name}")
    return value
