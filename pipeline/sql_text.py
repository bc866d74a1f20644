"""A query as text: where words stand in it, outside of strings and comments. For messages, and for literals of time.

Spark's parser turns ``timestamp'now'`` into a value before anybody sees the tree; only the text still says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import Final


class TokenKind(Enum):
    """What a piece of a query is; comments and spaces are left out."""

    WORD = "word"
    STRING = "string"
    QUOTED = "quoted"
    MARK = "mark"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the query and where it begins, counted from 0."""

    kind: TokenKind
    text: str
    start: int


class Dialect(Enum):
    """What quotes mean: Spark has texts in both kinds and names in backticks, the standard names in double ones."""

    SPARK = "spark"
    STANDARD = "standard"


def _pieces(string: str, quoted: str) -> re.Pattern[str]:
    return re.compile(
        rf"""
        (?P<skip>\s+|--[^\n]*|/\*(?!\+)(?:.*?\*/|.*))
        | (?P<string>{string})
        | (?P<quoted>{quoted})
        | (?P<word>[^\W\d]\w*|\d[\w.]*)
        | (?P<mark>/\*\+|\|>|.)
        """,
        re.VERBOSE | re.DOTALL,
    )


_TOKEN: Final = {
    Dialect.SPARK: _pieces(
        r"""[rR]?(?:'(?:[^'\\]|\\.?|'')*(?:'|\Z)|"(?:[^"\\]|\\.?|"")*(?:"|\Z))""", r"`(?:[^`]|``)*(?:`|\Z)"
    ),
    Dialect.STANDARD: _pieces(r"'(?:[^']|'')*(?:'|\Z)", r'"(?:[^"]|"")*(?:"|\Z)|`(?:[^`]|``)*(?:`|\Z)'),
}
_KINDS: Final = {kind.value: kind for kind in TokenKind}


def tokens(sql: str, dialect: Dialect = Dialect.SPARK) -> Iterator[Token]:
    """The pieces of the query in order, in time that grows with its length.

    What is no SQL gives marks, never an error; texts, names and comments that do not end go on to the end.
    """
    for found in _TOKEN[dialect].finditer(sql):
        if found.lastgroup in _KINDS:
            yield Token(_KINDS[found.lastgroup], found[0], found.start())


def place_of(sql: str, word: str, dialect: Dialect = Dialect.SPARK) -> str:
    """Where ``word`` first stands: `` (line 2, column 5)``; nothing if it does not."""
    wanted = word.lower()
    for token in tokens(sql, dialect):
        if token.kind is not TokenKind.STRING and token.text.strip('`"').lower() == wanted:
            return f" (line {line_and_column(sql, token.start)})"
    return ""


def line_and_column(sql: str, start: int) -> str:
    """``2, column 5``, both counted from 1."""
    before = sql[:start]
    return f"{before.count(chr(10)) + 1}, column {start - before.rfind(chr(10))}"


_NESTS: Final = {"(": 1, ")": -1}


def depth_of(sql: str) -> int:
    """How deep parentheses are in each other."""
    marks = (token.text for token in tokens(sql) if token.kind is TokenKind.MARK)
    return max(accumulate((_NESTS.get(mark, 0) for mark in marks), initial=0))


_TIME_WORDS: Final = frozenset({"date", "timestamp", "timestamp_ltz", "timestamp_ntz", "time"})
_PLAIN_TIME: Final = re.compile(r"""(['"])[+-]?\d[^\\'"]*\1""")


def first_unclear_time(sql: str) -> Token | None:
    """The first literal such as ``timestamp'…'`` that is not plainly a date: it could mean the clock."""
    pieces = [*tokens(sql), Token(TokenKind.MARK, "", len(sql))]
    for word, text, after in zip(pieces, pieces[1:], pieces[2:], strict=False):
        is_literal = word.text.lower() in _TIME_WORDS and text.kind is TokenKind.STRING
        if is_literal and (after.kind is TokenKind.STRING or not _PLAIN_TIME.fullmatch(text.text)):
            return text
    return None


_CLOCK_TEXT: Final = re.compile(
    r"(now|today|tomorrow|yesterday)(\s+\S+|\s*(z|utc?|gmt|[a-z]{3})?([+-][\d:]+)?|\s*[a-z_]+(/[\w+-]+)+)",
    re.IGNORECASE,
)


def names_the_clock(text: str) -> bool:
    """Whether Spark would take ``text`` for a moment that moves if it became a time, with a zone behind it or not."""
    return _CLOCK_TEXT.fullmatch(text.strip("".join(map(chr, range(33))))) is not None
