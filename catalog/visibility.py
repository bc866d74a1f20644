"""Who may read a dataset without a role."""

from __future__ import annotations

from enum import Enum

from opendatafabric.errors import MalformedIdentifier


class Visibility(Enum):
    """Who may read without a role. What is not ``PUBLIC`` is in no list, search or feed, and not in IPFS."""

    PRIVATE = "private"
    UNLISTED = "unlisted"
    """Whoever knows its name."""
    PUBLIC = "public"

    @classmethod
    def from_text(cls, text: str) -> Visibility:
        """``MalformedIdentifier`` for anything but the three words."""
        try:
            return cls(text)
        except ValueError:
            words = ", ".join(each.value for each in cls)
            raise MalformedIdentifier(f"there is no visibility {text[:100]!r}", expected=f"one of {words}") from None
