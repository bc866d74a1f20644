"""Windows of time in the text of a query: their lengths, and in how many of them one record is.

Spark writes each of those into its plan before anybody can look at it, so that a short text could fill the memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from opendatafabric.errors import InvalidQuery, LimitExceeded
from opendatafabric.limits import WINDOWS_OF_RECORD_MAX
from pipeline.sql_text import Token, TokenKind, line_and_column, tokens

_MICROSECONDS: Final = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_LENGTH: Final = re.compile(r"(?:interval\s+)?((?:\d+\s+[a-z]+\s*)+)", re.IGNORECASE)
_PART: Final = re.compile(r"(\d+)\s+([a-z]+)", re.IGNORECASE)
_SIZE, _SLIDE = 1, 2


def microseconds_in(text: str) -> int | None:
    """The length that a text such as ``1 hour 30 minutes`` says; ``None`` if it is none, or has months in it."""
    found = _LENGTH.fullmatch(text.strip())
    parts = _PART.findall(found[1].lower()) if found else []
    lengths = [_MICROSECONDS.get(unit.removesuffix("s"), 0) * int(count) for count, unit in parts]
    return sum(lengths) if lengths and all(lengths) else None


def check_windows(sql: str) -> None:
    """That no record is in too many windows of a query.

    Raises:
        InvalidQuery: windows that slide by what is no plain length.
        LimitExceeded: too many at a time.
    """
    for name, arguments in _windows(list(tokens(sql))):
        if len(arguments) > _SLIDE:
            size, slide = (_length(arguments[place]) for place in (_SIZE, _SLIDE))
            place = f"(line {line_and_column(sql, name.start)})"
            if size is None or slide is None:
                raise InvalidQuery(
                    f"a window slides by what is no plain length {place}",
                    hint="write window(event_time, '1 hour', '15 minutes')",
                )
            if size > slide * WINDOWS_OF_RECORD_MAX:
                raise LimitExceeded(
                    f"a record is in too many windows at a time {place}",
                    expected=f"at most {WINDOWS_OF_RECORD_MAX}",
                    found=size // slide,
                )


def _windows(pieces: list[Token]) -> Iterator[tuple[Token, list[list[Token]]]]:
    """Calls of the function by their names, and what each is given."""
    for place, (name, mark) in enumerate(pairwise(pieces)):
        if name.kind is not TokenKind.STRING and name.text.strip("`").lower() == "window" and mark.text == "(":
            yield name, _arguments(pieces[place + 2 :])


def _arguments(pieces: list[Token]) -> list[list[Token]]:
    """What stands between the commas up to the end of the parentheses."""
    found: list[list[Token]] = [[]]
    depth = 0
    for each in pieces:
        depth += {"(": 1, ")": -1}.get(each.text, 0)
        if depth < 0:
            break
        if each.text == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(each)
    return found


def _length(argument: list[Token]) -> int | None:
    """Of one text, or of a number of microseconds."""
    if len(argument) != 1:
        return None
    (only,) = argument
    if only.kind is TokenKind.STRING:
        return microseconds_in(only.text[1:-1])
    return int(only.text) if only.text.isascii() and only.text.isdigit() and int(only.text) else None
