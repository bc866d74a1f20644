"""What a token may be used for: scopes, and the datasets it is bound to. Both only narrow what its account may do."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from typing import Final

from opendatafabric.dataset_patterns import WILDCARD, DatasetAliasPattern
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import LimitExceeded, MalformedIdentifier
from opendatafabric.limits import TOKEN_DATASETS_MAX
from opendatafabric.names import DatasetName


class Scope(Enum):
    """``DATASETS_MANAGE`` includes ``DATASETS_PUSH``, and that ``DATASETS_READ``; ``ADMIN`` includes all."""

    DATASETS_READ = "datasets:read"
    DATASETS_PUSH = "datasets:push"
    DATASETS_MANAGE = "datasets:manage"
    ACCOUNTS_MANAGE = "accounts:manage"
    ADMIN = "admin"

    @classmethod
    def from_text(cls, text: str) -> Scope:
        """A scope by its name, or one of the words of former times; ``MalformedIdentifier`` for anything else."""
        try:
            return cls(FORMER_NAMES.get(text, text))
        except ValueError:
            names = ", ".join(scope.value for scope in cls)
            raise MalformedIdentifier(f"there is no scope {text[:100]!r}", expected=f"one of {names}") from None


FORMER_NAMES: Final = {"read": Scope.DATASETS_READ.value, "write": Scope.DATASETS_MANAGE.value}
"""``write`` was good for schedules and gates too, not for pushes alone."""

DEFAULT_SCOPES: Final = frozenset({Scope.DATASETS_PUSH})
"""What a token is for that says nothing: to pull and to push."""

SESSION_SCOPES: Final = frozenset({Scope.DATASETS_MANAGE, Scope.ACCOUNTS_MANAGE})
"""What a token is for that somebody got by logging in; of administrators ``ADMIN`` too."""

_PUSH: Final = frozenset({Scope.DATASETS_READ, Scope.DATASETS_PUSH})
_INCLUDES: Final = {
    Scope.DATASETS_READ: frozenset({Scope.DATASETS_READ}),
    Scope.DATASETS_PUSH: _PUSH,
    Scope.DATASETS_MANAGE: _PUSH | {Scope.DATASETS_MANAGE},
    Scope.ACCOUNTS_MANAGE: frozenset({Scope.ACCOUNTS_MANAGE}),
    Scope.ADMIN: frozenset(Scope),
}


def with_included(scopes: Iterable[Scope]) -> frozenset[Scope]:
    """The scopes and all that they include."""
    return frozenset().union(*(_INCLUDES[scope] for scope in scopes))


def session_scopes(*, is_admin: bool) -> frozenset[Scope]:
    """The scopes of a login."""
    return SESSION_SCOPES | {Scope.ADMIN} if is_admin else SESSION_SCOPES


Patterns = tuple[DatasetAliasPattern, ...]
"""The datasets a token is bound to; none at all binds it to nothing: it is good for every dataset."""


def parse_patterns(texts: Collection[str]) -> Patterns:
    """Patterns of dataset names as people write them: ``alice/weather``, ``alice/net.*``, ``alice/%``, ``weather``.

    Raises:
        MalformedIdentifier: one outside the grammar.
        LimitExceeded: more than ``TOKEN_DATASETS_MAX``.
    """
    if len(texts) > TOKEN_DATASETS_MAX:
        raise LimitExceeded(
            "a token is bound to too many patterns", expected=f"at most {TOKEN_DATASETS_MAX}", found=len(texts)
        )
    return tuple(DatasetAliasPattern.from_text(text.replace("*", WILDCARD)) for text in texts)


def within(inner: Patterns, outer: Patterns) -> bool:
    """Whether whatever ``inner`` covers is surely covered by ``outer``."""
    return not outer or (bool(inner) and all(any(_is_within(each, other) for other in outer) for each in inner))


def _is_within(inner: DatasetAliasPattern, outer: DatasetAliasPattern) -> bool:
    if outer.account is not None and outer.account != inner.account:
        return False
    if WILDCARD in inner.pattern.text:
        return inner.pattern.text.lower() == outer.pattern.text.lower()
    return outer.pattern.matches(DatasetName(inner.pattern.text))


def covers(patterns: Patterns, alias: DatasetAlias) -> bool:
    """Whether a token with these patterns may be used at ``alias``, which names its account."""
    return not patterns or any(pattern.matches(alias) for pattern in patterns)
