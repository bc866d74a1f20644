"""What DataFusion says of a query, as errors of ours that name the place in it."""

from __future__ import annotations

import re
from typing import Final

from opendatafabric.errors import InvalidQuery, LimitExceeded, OdfError
from pipeline.sql_text import Dialect, place_of

_TEXT_CHARS_MAX: Final = 1_000
_PREFIXES: Final = re.compile(
    r"^(?:DataFusion error: |SQL error: |Error during planning: |Schema error: |Execution error: |Arrow error: "
    r"|This feature is not implemented: |Optimizer rule '\w+' failed\s+caused by\s+|External error: )+"
)
_NOT_ALLOWED: Final = re.compile(r"^(?:DML|DDL|Statement) not supported: (\w+)")
_OURS: Final = re.compile(r"value: InvalidQuery\('([^']*)'")
_EXHAUSTED: Final = re.compile(r"(?:^|\n|: )Resources exhausted: ")
"""Alone, or told by a part that waited for the one that had no more."""

_PARSER: Final = re.compile(r'ParserError\("(.*?)(?: at Line: (\d+), Column: (\d+))?"\)', re.DOTALL)
_NAMES: Final = re.compile(
    r"No field named (?P<field>\S+?)\.(?:\s|$)|table '(?:datafusion\.public\.)?(?P<table>[^']*)' not found"
    r"|[Ff]unction '(?P<function>\w+)'|reference to unqualified field (?P<ambiguous>\w+)"
)


def took_too_much_memory() -> LimitExceeded:
    """The query got none any more."""
    return LimitExceeded("the query took too much memory and was ended", hint="read less, or allow it more")


def error_of_query(sql: str, told: str) -> OdfError:
    """The error for what the engine told."""
    text = _PREFIXES.sub("", told).strip()
    if _EXHAUSTED.search(text):
        return took_too_much_memory()
    forbidden = _NOT_ALLOWED.match(text)
    if forbidden is not None:
        return InvalidQuery(
            f"queries only read: {forbidden[1]} is not allowed{_first_word_of(sql)}", hint="write one SELECT"
        )
    ours = _OURS.search(text)
    if ours is not None:
        return InvalidQuery(f"the query does not hold: {ours[1]}{_place(sql, ours[1].split()[0])}")
    parsed = _PARSER.search(text)
    if parsed is not None:
        place = f" (line {parsed[2]}, column {parsed[3]})" if parsed[2] else " (at its end)"
        return InvalidQuery(f"the query is no SQL: {parsed[1]}{place}")
    named = _NAMES.search(text)
    word = "" if named is None else next(filter(None, named.groups()), "")
    return InvalidQuery(f"the query does not hold: {_cut(text)}{_place(sql, word)}")


def _place(sql: str, word: str) -> str:
    return place_of(sql, word.rpartition(".")[2].strip('"'), Dialect.STANDARD) if word else ""


def _first_word_of(sql: str) -> str:
    word = re.search(r"\w+", sql)
    return "" if word is None else place_of(sql, word[0], Dialect.STANDARD)


def _cut(text: str) -> str:
    """The first sentence or line: what follows are names, traces and advice on the engine."""
    line = text.splitlines()[0] if text else "the engine says nothing"
    return line.partition(". Valid fields are")[0][:_TEXT_CHARS_MAX].rstrip(".")
