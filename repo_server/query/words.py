"""The words in which requests name formats, as generously as the reference reads them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

from opendatafabric.errors import MalformedInput

Named = TypeVar("Named", bound=StrEnum)


def named(kind: type[Named], text: str, field: str) -> Named:
    """The member called ``text``: as it is, in small letters, or with dashes between its parts.

    Raises:
        MalformedInput: there is none.
    """
    found = next((each for each in kind if _bare(each.value) == _bare(text)), None)
    if found is None or not text.isascii():
        raise MalformedInput(f"{field} is none of those known", expected=", ".join(kind), found=text[:100])
    return found


def whole_number(text: str, field: str, *, most: int) -> int:
    """A count.

    Raises:
        MalformedInput: it is none, or more than ``most``.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 20) or int(text) > most:
        raise MalformedInput(f"{field} is no such number", expected=f"0 to {most}", found=text[:100])
    return int(text)


def only_known(given: Iterable[str], known: Iterable[str]) -> None:
    """Raise ``MalformedInput`` for the first parameter that is not known."""
    known = tuple(known)
    for name in given:
        if name not in known:
            raise MalformedInput(f"unknown parameter '{name[:100]}'", expected=", ".join(known))


def _bare(text: str) -> str:
    return text.replace("-", "").replace("_", "").lower()
