"""The token that a login ends with, whichever way somebody showed who they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from catalog.accounts import Account
from catalog.scopes import session_scopes
from repo_server.services import Services

_DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class LoginToken:
    """A token, and how long it is good, in seconds."""

    text: str = field(repr=False)
    lasts_s: float


async def login_token(services: Services, account: Account) -> LoginToken:
    """A new token for everything that ``account`` may do."""
    lasts_s = services.settings.login_token_days * _DAY_S
    scopes = session_scopes(is_admin=account.is_admin)
    text = await services.catalog.tokens.create(account, scopes, expires_at=services.now() + lasts_s)
    return LoginToken(text, lasts_s)
