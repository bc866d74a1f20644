"""From what somebody types to a question for the index of words. Nothing in it has a meaning but the words: quotes,
operators and whatever else a stranger may send are no syntax."""

from __future__ import annotations

import unicodedata
from typing import Final

from opendatafabric.index_limits import SEARCH_CHARS_MAX, SEARCH_WORDS_MAX

NOTHING: Final = '""'
"""A question that nothing answers."""


def question_of(text: str) -> str | None:
    """Every word has to be there, the last one may go on; ``None`` where there are no words to look for.

    A text without a letter or a digit is ``NOTHING``: it was to be found, and is nowhere.
    """
    typed = text[:SEARCH_CHARS_MAX].split()
    words = [word for word in map(_word, typed) if word][:SEARCH_WORDS_MAX]
    if not words:
        return NOTHING if typed else None
    return " AND ".join(f'"{word}"' for word in words) + " *"


def _word(typed: str) -> str:
    """Letters and digits are what the index knows; what stands between them parts a word in pieces, in this order."""
    shown = "".join(char if char.isalnum() or _is_mark(char) else " " for char in typed)
    return " ".join(shown.split()) if any(char.isalnum() for char in shown) else ""


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")
