"""Tokens of issuers, proved: signed by a key of theirs, for us, now."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from joserfc import jwt
from joserfc.errors import JoseError

from opendatafabric.errors import AuthenticationRequired
from opendatafabric.login_limits import EXTERNAL_SUBJECT_CHARS_MAX, IDENTITY_LEEWAY_S, IDENTITY_TOKEN_CHARS_MAX
from repo_server.oidc.issuers import Issuers, unproved_claims

ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
    "Ed25519",
)
"""Signatures by keys with a public half. Never ``none``, and none that is made with a secret."""

Claims = Mapping[str, Any]


async def proved_claims(
    issuers: Issuers, token: str, *, issuer: str, audience: str, now: Callable[[], float] = time.time
) -> Claims:
    """What ``issuer`` says in ``token``, which it signed for ``audience``.

    Raises:
        AuthenticationRequired: it is not so; the message says which rule refused.
        PeerUnavailable: the issuer does not answer.
    """
    header, _ = _bounded(token)
    kid = header.get("kid")
    known = await issuers.with_key(issuer, kid if isinstance(kid, str) else None)
    try:
        claims = jwt.decode(token, known.keys, algorithms=list(ALGORITHMS)).claims
        _registry(issuer, audience, now).validate(claims)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise AuthenticationRequired(f"the token of the issuer does not count: {_reason(error)}") from None
    _check_subject(claims)
    return claims


def _bounded(token: str) -> tuple[Claims, Claims]:
    if len(token) > IDENTITY_TOKEN_CHARS_MAX:
        raise AuthenticationRequired(
            "the token of the issuer is too long", expected=f"at most {IDENTITY_TOKEN_CHARS_MAX} characters"
        )
    return unproved_claims(token)


def _registry(issuer: str, audience: str, now: Callable[[], float]) -> jwt.JWTClaimsRegistry:
    return jwt.JWTClaimsRegistry(
        now=int(now()),
        leeway=IDENTITY_LEEWAY_S,
        iss={"essential": True, "value": issuer},
        aud={"essential": True, "value": audience},
        sub={"essential": True},
        exp={"essential": True},
    )


def check_party(claims: Claims, client_id: str) -> None:
    """That a login was asked for by the client that we are, and by no other of the same issuer.

    Raises:
        AuthenticationRequired: it was not.
    """
    if claims.get("azp", client_id) != client_id:
        raise AuthenticationRequired("the token of the issuer does not count: another program asked for it")


def _check_subject(claims: Claims) -> None:
    if isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and "azp" not in claims:
        raise AuthenticationRequired("the token of the issuer does not count: it is for several, and none asked for it")
    if not 0 < len(claims["sub"]) <= EXTERNAL_SUBJECT_CHARS_MAX or not claims["sub"].isprintable():
        raise AuthenticationRequired("the token of the issuer does not count: its subject is none")


def _reason(error: Exception) -> str:
    return str(getattr(error, "description", "") or getattr(error, "error", "") or "it is malformed")[:200]
