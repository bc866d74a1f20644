"""From the token of a CI run to a token of ours: for a while, for pushes, for the datasets that trust the run.

Nobody is asked about an issuer that no dataset trusts: strangers cannot make us ask anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from catalog.accounts import Account
from catalog.permissions import Access, access_to
from catalog.publishers import Publisher
from catalog.scopes import Scope, parse_patterns, with_included
from catalog.tokens import Authenticated
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import AccessDenied, AuthenticationRequired, NotFound
from opendatafabric.login_limits import IDENTITY_LEEWAY_S, IDENTITY_TOKEN_CHARS_MAX, IDENTITY_TOKEN_KEPT_S_MAX
from repo_server.oidc.claims import meets
from repo_server.oidc.issuers import unproved_claims
from repo_server.oidc.tokens import Claims, proved_claims
from repo_server.services import Services

SCOPES: Final = frozenset({Scope.DATASETS_PUSH})


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A token of ours; ``lasts_s`` in seconds."""

    text: str = field(repr=False)
    lasts_s: float
    account: Account
    datasets: tuple[DatasetAlias, ...]
    run: Claims


async def exchanged(services: Services, token: str, dataset: str | None = None) -> Exchanged:
    """A token to push with to the datasets that trust the run which ``token`` is of, or to the ``dataset`` named.

    Raises:
        AuthenticationRequired: the token does not count, or was used before.
        AccessDenied: no dataset trusts the run, or those of several accounts do.
        PeerUnavailable: the issuer does not answer.
    """
    claims, publishers = await _trusting(services, token)
    pairs = [(await _reached(services, each), each) for each in publishers]
    places = [(alias, each.account_id) for alias, each in pairs if alias is not None and _is_meant(alias, dataset)]
    accounts = {account_id for _, account_id in places}
    if not accounts:
        raise AccessDenied("no dataset here trusts this run", hint="odf trust add REF --claim repository=…")
    if len(accounts) > 1:
        raise AccessDenied("datasets of several accounts trust this run", hint="say which one: dataset=ACCOUNT/NAME")
    await _use_once(services, token, claims)
    account = await services.catalog.accounts.find_by_id(accounts.pop())
    aliases = tuple(dict.fromkeys(alias for alias, _ in places))
    lasts_s = services.settings.ci_token_s
    patterns = parse_patterns([str(alias) for alias in aliases])
    text = await services.catalog.tokens.create(account, SCOPES, datasets=patterns, expires_at=services.now() + lasts_s)
    return Exchanged(text, lasts_s, account, aliases, claims)


async def _trusting(services: Services, token: str) -> tuple[Claims, Sequence[Publisher]]:
    """What is proved of the run, and the publishers that it is one of."""
    if len(token) > IDENTITY_TOKEN_CHARS_MAX:
        raise AuthenticationRequired("the token of the issuer is too long")
    _, said = unproved_claims(token)
    issuer = said.get("iss")
    known = await services.catalog.publishers.of_issuer(issuer) if isinstance(issuer, str) else []
    if not isinstance(issuer, str) or not known:
        raise AccessDenied("no dataset here trusts the issuer of this token", hint="odf trust add REF --issuer …")
    audience = _audience_in(said, {_audience_of(services, each) for each in known})
    claims = await proved_claims(services.issuers, token, issuer=issuer, audience=audience, now=services.now)
    own = [each for each in known if _audience_of(services, each) == audience and meets(claims, each.trust.claims)]
    return claims, own


def _audience_of(services: Services, publisher: Publisher) -> str:
    return publisher.trust.audience or services.base_url


def _audience_in(said: Mapping[str, Any], expected: set[str]) -> str:
    given = said.get("aud")
    named = given if isinstance(given, list) else [given]
    found = next((each for each in named if isinstance(each, str) and each in expected), None)
    if found is None:
        raise AuthenticationRequired(
            "the token was made for somebody else", expected=" or ".join(sorted(expected)), hint="ask for that audience"
        )
    return found


async def _reached(services: Services, publisher: Publisher) -> DatasetAlias | None:
    """Where the publisher may push now: who trusted it must still be let to."""
    try:
        account = await services.catalog.accounts.find_by_id(publisher.account_id)
    except NotFound:
        return None
    hosted = await services.directory.find(publisher.dataset_id)
    if hosted is None or account.disabled:
        return None
    role = None if account.id == hosted.record.owner_id else await services.directory.role(hosted, account)
    caller = Authenticated(account, with_included(SCOPES))
    return hosted.record.alias if access_to(hosted.record, caller, role) >= Access.WRITE else None


def _is_meant(alias: DatasetAlias, dataset: str | None) -> bool:
    return dataset is None or dataset.lower() in {str(alias).lower(), alias.name.folded}


async def _use_once(services: Services, token: str, claims: Claims) -> None:
    ends_at = float(claims["exp"]) + IDENTITY_LEEWAY_S
    if not ends_at <= services.now() + IDENTITY_TOKEN_KEPT_S_MAX:  # so that what is no number is refused too
        raise AuthenticationRequired("the token of the issuer is good for too long", expected="a day at most")
    if not await services.catalog.publishers.use(_name_of(token, claims), expires_at=ends_at):
        raise AuthenticationRequired("this token was used before", hint="have the run ask for another one")


def _name_of(token: str, claims: Claims) -> str:
    named = claims.get("jti")
    return f"{claims['iss']} {named}" if isinstance(named, str) and named else token
