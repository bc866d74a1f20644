"""What people type for a dataset: ids, aliases, remote aliases, URLs (spec: Aliases and References).

Every form is a frozen value that prints back as canonical text; names keep their case and are compared without it.
Patterns over names are in ``dataset_patterns.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import total_ordering
from typing import Final, TypeVar

import ada_url

from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.limits import URL_CHARS_MAX
from opendatafabric.names import AccountName, DatasetName, RepoName

_URL: Final = re.compile(r"[a-zA-Z0-9]+(?:\+[a-zA-Z0-9]+)*://", re.ASCII)
_ID_PREFIX: Final = "did:odf:"
T = TypeVar("T")


@total_ordering
@dataclass(frozen=True, slots=True)
class DatasetAlias:
    """``account/name`` or ``name``; orders by account (absent first), then name."""

    account: AccountName | None
    name: DatasetName

    @classmethod
    def from_text(cls, text: str) -> DatasetAlias:
        """Raises ``MalformedIdentifier`` for anything but one or two names."""
        parts = text.split("/")
        if len(parts) > 2:
            raise _malformed(text, "DatasetAlias", "account/name or name")
        return cls(AccountName(parts[0]) if len(parts) == 2 else None, DatasetName(parts[-1]))

    def __str__(self) -> str:
        return self.name[:] if self.account is None else f"{self.account}/{self.name}"

    def __lt__(self, other: DatasetAlias) -> bool:
        return _alias_order(self) < _alias_order(other)


@dataclass(frozen=True, slots=True)
class DatasetAliasRemote:
    """``repo/account/name`` or ``repo/name``."""

    repo: RepoName
    account: AccountName | None
    name: DatasetName

    @classmethod
    def from_text(cls, text: str) -> DatasetAliasRemote:
        """Raises ``MalformedIdentifier`` for anything but two or three names."""
        parts = text.split("/")
        if len(parts) not in (2, 3):
            raise _malformed(text, "DatasetAliasRemote", "repo/account/name or repo/name")
        return cls(RepoName(parts[0]), AccountName(parts[1]) if len(parts) == 3 else None, DatasetName(parts[-1]))

    def __str__(self) -> str:
        return "/".join(part for part in (self.repo, self.account, self.name) if part is not None)


@dataclass(frozen=True, slots=True)
class RemoteDatasetId:
    """``repo/did:odf:…``, or a bare id that any repository may hold."""

    repo: RepoName | None
    id: DatasetId

    @classmethod
    def from_text(cls, text: str) -> RemoteDatasetId:
        """Raises ``MalformedIdentifier`` for anything but an id after at most one name."""
        repo, slash, rest = text.rpartition("/")
        return cls(RepoName(repo) if slash else None, DatasetId.from_text(rest))

    def __str__(self) -> str:
        return str(self.id) if self.repo is None else f"{self.repo}/{self.id}"


@dataclass(frozen=True, slots=True)
class AmbiguousAlias:
    """``a/name``: remote if ``a`` is a known repository, else the account of a local alias."""

    repo_or_account: RepoName
    name: DatasetName

    def __str__(self) -> str:
        return f"{self.repo_or_account}/{self.name}"


@dataclass(frozen=True, slots=True)
class DatasetUrl:
    """An absolute URL in the normal form of the WHATWG URL standard."""

    url: str

    @classmethod
    def from_text(cls, text: str) -> DatasetUrl:
        """Normalise: default ports dropped, host in punycode, path of a web URL at least ``/``.

        Raises:
            MalformedIdentifier: no ``scheme://``, or refused by the standard.
        """
        if len(text) > URL_CHARS_MAX or _URL.match(text) is None:
            raise _malformed(text, "URL", "scheme://…")
        try:
            return cls(ada_url.URL(text).href)
        except (ValueError, UnicodeError):
            raise _malformed(text, "URL", "a URL of the WHATWG standard") from None

    def __str__(self) -> str:
        return self.url


DatasetRef = DatasetId | DatasetAlias
"""What metadata and local commands take."""

DatasetRefRemote = RemoteDatasetId | DatasetAliasRemote | DatasetUrl
DatasetRefAny = RemoteDatasetId | DatasetAlias | AmbiguousAlias | DatasetAliasRemote | DatasetUrl
DatasetPushTarget = DatasetAliasRemote | RepoName | DatasetUrl


def parse_dataset_ref(text: str) -> DatasetRef:
    """A local reference: id, else alias.

    Raises:
        MalformedIdentifier: neither.
    """
    return DatasetId.from_text(text) if text.startswith(_ID_PREFIX) else DatasetAlias.from_text(text)


def parse_dataset_ref_remote(text: str) -> DatasetRefRemote:
    """A remote reference: id, else remote alias, else URL; two names are ``repo/name``.

    Raises:
        MalformedIdentifier: none of them.
    """
    return _first_that_reads(text, "remote reference", _REMOTE_READERS)


def parse_dataset_ref_any(text: str) -> DatasetRefAny:
    """Any reference: id, one name (local), two (ambiguous), three (remote), else URL.

    Raises:
        MalformedIdentifier: none of them.
    """
    return _first_that_reads(text, "reference", _ANY_READERS)


def parse_dataset_push_target(text: str) -> DatasetPushTarget:
    """Where to push: remote alias, else the name of a repository, else URL; never an id.

    Raises:
        MalformedIdentifier: none of them.
    """
    return _first_that_reads(text, "push target", _PUSH_TARGET_READERS)


def _local_or_ambiguous(text: str) -> DatasetAlias | AmbiguousAlias:
    first, slash, name = text.partition("/")
    return AmbiguousAlias(RepoName(first), DatasetName(name)) if slash else DatasetAlias.from_text(first)


_REMOTE_READERS: Final[tuple[Callable[[str], DatasetRefRemote], ...]] = (
    RemoteDatasetId.from_text,
    DatasetAliasRemote.from_text,
    DatasetUrl.from_text,
)
_ANY_READERS: Final[tuple[Callable[[str], DatasetRefAny], ...]] = (
    RemoteDatasetId.from_text,
    _local_or_ambiguous,
    DatasetAliasRemote.from_text,
    DatasetUrl.from_text,
)
_PUSH_TARGET_READERS: Final[tuple[Callable[[str], DatasetPushTarget], ...]] = (
    DatasetAliasRemote.from_text,
    RepoName,
    DatasetUrl.from_text,
)


def _first_that_reads(text: str, what: str, readers: Sequence[Callable[[str], T]]) -> T:
    for read in readers:
        try:
            return read(text)
        except MalformedIdentifier:
            continue
    raise _malformed(text, what, "an id, alias or URL of this kind")


def _alias_order(alias: DatasetAlias) -> tuple[str, str]:
    return (alias.account.folded if alias.account is not None else "", alias.name.folded)


def _malformed(text: str, what: str, expected: str) -> MalformedIdentifier:
    return MalformedIdentifier(f"{text[:100]!r} is no {what}", expected=expected)
