"""Names of datasets, accounts and repositories: one grammar, case kept and not compared.

Grammar (spec: Aliases and References): ``Hostname = Subdomain ("." Subdomain)*`` and
``Subdomain = alnum+ ("-" alnum+)*``, ASCII only.
"""

from __future__ import annotations

import re
from typing import Final, Self

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.limits import IDENTIFIER_CHARS_MAX

_SUBDOMAIN: Final = r"[a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)*"
HOSTNAME: Final = rf"{_SUBDOMAIN}(?:\.{_SUBDOMAIN})*"
_HOSTNAME: Final = re.compile(HOSTNAME, re.ASCII)


class Name(str):
    """A text of the grammar: prints as it was written, compares, hashes and orders without regard to case."""

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        """Check ``text``.

        Raises:
            MalformedIdentifier: outside the grammar or over ``IDENTIFIER_CHARS_MAX``.
        """
        if len(text) > IDENTIFIER_CHARS_MAX or _HOSTNAME.fullmatch(text) is None:
            raise MalformedIdentifier(
                f"{text[:100]!r} is no {cls.__name__}",
                expected="letters, digits, and single '-' or '.' between them",
                hint="underscores and blanks are not allowed",
            )
        return super().__new__(cls, text)

    @property
    def folded(self) -> str:
        """Lower case: the key to compare and index by."""
        return str.lower(self)

    def __eq__(self, other: object) -> bool:
        # Only ASCII folds: the Kelvin sign lowers to a plain k and must not pass for one.
        return isinstance(other, str) and other.isascii() and self.folded == str.lower(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: str) -> bool:
        return self.folded < str.lower(other)

    def __le__(self, other: str) -> bool:
        return self.folded <= str.lower(other)

    def __gt__(self, other: str) -> bool:
        return self.folded > str.lower(other)

    def __ge__(self, other: str) -> bool:
        return self.folded >= str.lower(other)

    def __hash__(self) -> int:
        return hash(self.folded)


class DatasetName(Name):
    """Name of a dataset within its account."""

    __slots__ = ()


class AccountName(Name):
    """Name of an account within its repository."""

    __slots__ = ()


class RepoName(Name):
    """Name that a client gave to a remote repository."""

    __slots__ = ()
