"""The page of an account's tokens: which are in force, what for and how long, and the form for a new one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from catalog.scopes import Scope
from catalog.tokens import TokenInfo
from repo_server.pages.frame import Frame
from repo_server.pages.templates import render

_SHOWN_MAX: Final = 100
_PURPOSES: Final = {
    Scope.DATASETS_READ: "read and pull datasets",
    Scope.DATASETS_PUSH: "push to them too",
    Scope.DATASETS_MANAGE: "and change their schedules, gates and roles",
    Scope.ACCOUNTS_MANAGE: "manage accounts that you own",
    Scope.ADMIN: "everything that an administrator may do",
}


@dataclass(frozen=True, slots=True)
class TokenNews:
    """What came of the form: the text of a new token, or what was ``wrong``."""

    made: str | None = None
    wrong: str | None = None


def token_page(
    tokens: Sequence[TokenInfo], news: TokenNews, frame: Frame, *, now: float, csrf_token: str, days: int
) -> str:
    """The whole page; ``days`` is how long a new token is good unless its maker says otherwise."""
    in_force = [each for each in tokens if _is_in_force(each, now)]
    purposes = [(each.value, text) for each, text in _PURPOSES.items() if frame.is_admin or each is not Scope.ADMIN]
    return render(
        "tokens.html",
        frame=frame,
        news=news,
        tokens=[_row(each) for each in in_force[::-1][:_SHOWN_MAX]],
        more=max(0, len(in_force) - _SHOWN_MAX),
        purposes=purposes,
        chosen=Scope.DATASETS_PUSH.value,
        days=days,
        csrf_token=csrf_token,
    )


def _is_in_force(token: TokenInfo, now: float) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def _row(token: TokenInfo) -> dict[str, object]:
    return {
        "id": token.id,
        "scopes": ", ".join(sorted(each.value for each in token.scopes)),
        "datasets": ", ".join(map(str, token.datasets)) or "all",
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "last_used_at": token.last_used_at,
    }
