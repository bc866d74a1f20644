"""Patterns over dataset names: ``%`` stands for any run of characters (grammar of the reference).

A text without ``%`` is an exact reference and reads as one. A pattern matches a whole name, without regard to case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from opendatafabric.dataset_ref import DatasetAlias, DatasetRef, DatasetRefAny, parse_dataset_ref, parse_dataset_ref_any
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.limits import IDENTIFIER_CHARS_MAX
from opendatafabric.names import HOSTNAME, AccountName, DatasetName, RepoName

WILDCARD: Final = "%"
_START: Final = re.compile(rf"(?:{HOSTNAME}[.-]?)?", re.ASCII)
_MIDDLE: Final = re.compile(rf"[.-]?{HOSTNAME}[.-]?|[.-]", re.ASCII)
_END: Final = re.compile(rf"(?:[.-]?{HOSTNAME})?", re.ASCII)
_PLAIN: Final = re.compile(HOSTNAME, re.ASCII)


@dataclass(frozen=True, slots=True)
class DatasetNamePattern:
    """A name in which ``%`` may stand for parts: ``net.%``, ``%-2020``, ``%``; without ``%`` a plain name."""

    text: str

    def __post_init__(self) -> None:
        """Check the grammar.

        Raises:
            MalformedIdentifier: outside the grammar or over ``IDENTIFIER_CHARS_MAX``.
        """
        if len(self.text) > IDENTIFIER_CHARS_MAX or not _is_pattern(self.text):
            raise MalformedIdentifier(
                f"{self.text[:100]!r} is no pattern of a dataset name",
                expected="a name in which % stands for any characters",
                hint="single '.' or '-' between letters, digits and %; neither at the ends",
            )

    def matches(self, name: DatasetName) -> bool:
        """Whether the whole of ``name`` is of this pattern."""
        start, *rest = self.text.lower().split(WILDCARD)
        if not rest:
            return name.folded == start
        *middles, end = rest
        if not name.folded.startswith(start):
            return False
        # The leftmost place leaves most room for what follows, so one pass decides; a regex could backtrack for ages.
        position = len(start)
        for part in middles:
            found = name.folded.find(part, position)
            if found < 0:
                return False
            position = found + len(part)
        return name.folded.endswith(end) and len(name) - len(end) >= position

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class DatasetAliasPattern:
    """``account/pattern`` or ``pattern``; the account is always exact, and without one any will do."""

    account: AccountName | None
    pattern: DatasetNamePattern

    @classmethod
    def from_text(cls, text: str) -> DatasetAliasPattern:
        """Raises ``MalformedIdentifier`` for anything but a pattern after at most one account."""
        account, slash, pattern = text.rpartition("/")
        return cls(AccountName(account) if slash else None, DatasetNamePattern(pattern))

    def matches(self, alias: DatasetAlias) -> bool:
        """Whether the name matches, in the account that is asked for."""
        return self.account in {None, alias.account} and self.pattern.matches(alias.name)

    def __str__(self) -> str:
        return str(self.pattern) if self.account is None else f"{self.account}/{self.pattern}"


@dataclass(frozen=True, slots=True)
class AmbiguousPattern:
    """``a/pattern``: remote if ``a`` is a known repository, else the account of a local pattern."""

    repo_or_account: RepoName
    pattern: DatasetNamePattern

    def __str__(self) -> str:
        return f"{self.repo_or_account}/{self.pattern}"


@dataclass(frozen=True, slots=True)
class RemotePattern:
    """``repo/account/pattern``."""

    repo: RepoName
    account: AccountName
    pattern: DatasetNamePattern

    def __str__(self) -> str:
        return f"{self.repo}/{self.account}/{self.pattern}"


DatasetRefPattern = DatasetRef | DatasetAliasPattern
"""One local dataset, or all whose alias matches."""

DatasetRefAnyPattern = DatasetRefAny | DatasetNamePattern | AmbiguousPattern | RemotePattern
"""One dataset anywhere, or all that match: here, there or wherever the first part turns out to be."""


def parse_dataset_ref_pattern(text: str) -> DatasetRefPattern:
    """A local reference, or with ``%`` in it a pattern.

    Raises:
        MalformedIdentifier: neither.
    """
    return DatasetAliasPattern.from_text(text) if WILDCARD in text else parse_dataset_ref(text)


def parse_dataset_ref_any_pattern(text: str) -> DatasetRefAnyPattern:
    """Any reference, or with ``%`` in it a pattern of one (local), two (ambiguous) or three parts (remote).

    Raises:
        MalformedIdentifier: none of them; a URL may have no ``%`` here.
    """
    if WILDCARD not in text:
        return parse_dataset_ref_any(text)
    *places, last = text.split("/", 3)
    match places:
        case []:
            return DatasetNamePattern(last)
        case [repo_or_account]:
            return AmbiguousPattern(RepoName(repo_or_account), DatasetNamePattern(last))
        case [repo, account]:
            return RemotePattern(RepoName(repo), AccountName(account), DatasetNamePattern(last))
    raise MalformedIdentifier(f"{text[:100]!r} is no pattern", expected="repo/account/pattern or less")


def _is_pattern(text: str) -> bool:
    start, *rest = re.split(f"{WILDCARD}+", text)
    if not rest:
        return _PLAIN.fullmatch(start) is not None
    *middles, end = rest
    return bool(_START.fullmatch(start) and _END.fullmatch(end) and all(map(_MIDDLE.fullmatch, middles)))
