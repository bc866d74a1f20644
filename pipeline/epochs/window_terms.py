"""What Spark made of ``window(…)`` and ``session_window(…)``: their lengths, and the column whose windows they are.

It computes windows in whole microseconds by the last node of a plan below a grouping; queries cannot write such
expressions themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pipeline.epochs.plan_tree import Expression, column_of, is_column, parts_of, short
from pipeline.epochs.windows import FixedWindows, SessionWindows, Windows

_WRAPPERS: Final = frozenset({"KnownNullable", "PreciseTimestampConversion"})
_CASTS: Final = _WRAPPERS | {"Cast"}
_MILLISECONDS: Final = {
    "millisecond": 1,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
_LENGTH: Final = re.compile(r"(?:interval\s+)?((?:\d+\s+[a-z]+\s*)+)", re.IGNORECASE)
_PART: Final = re.compile(r"(\d+)\s+([a-z]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WindowTerms:
    """``windows`` over ``column``; ``None`` for what is no column, or no window of a fixed length."""

    windows: Windows | None
    column: int | None


def window_terms(defined: Expression) -> WindowTerms | None:
    """Of a column that Spark defined so; ``None`` if it is no window."""
    kinds = [short(node) for node in defined]
    if kinds[:1] != ["CreateNamedStruct"]:
        return None
    end = _unwrapped(parts_of(defined)[-1], _WRAPPERS)
    if "Remainder" in kinds and short(end[0]) == "Add":
        return _fixed(defined[kinds.index("Remainder") :], end)
    session = _unwrapped(end, _CASTS)
    return _session(session) if short(session[0]) == "TimestampAddInterval" else None


def milliseconds_in(text: str) -> int | None:
    """The length that a text such as ``1 hour 30 minutes`` says; ``None`` if it is none, or has months in it."""
    found = _LENGTH.fullmatch(text.strip())
    parts = _PART.findall(found[1].lower()) if found else []
    lengths = [_MILLISECONDS.get(unit.removesuffix("s"), 0) * int(count) for count, unit in parts]
    return sum(lengths) if lengths and all(lengths) else None


def _fixed(remainder: Expression, end: Expression) -> WindowTerms | None:
    """``remainder`` is the time since a start by the slide, ``end`` a start and the size."""
    since, slide = parts_of(remainder)
    time, start = parts_of(since)
    numbers = [_number(each) for each in (parts_of(end)[1], slide, start)]
    if any(each is None or each % 1_000 for each in numbers):
        return WindowTerms(None, _column(time))
    size, every, begin = [each // 1_000 for each in numbers if each is not None]
    return WindowTerms(FixedWindows(size, every, begin), _column(time))


def _session(added: Expression) -> WindowTerms:
    time, gap = parts_of(added)
    said = _unwrapped(gap, _CASTS)
    is_text = short(said[0]) == "Literal" and said[0]["dataType"] == "string"
    length = milliseconds_in(said[0]["value"]) if is_text else None
    return WindowTerms(None if length is None else SessionWindows(length), _column(time))


def _number(expression: Expression) -> int | None:
    is_number = short(expression[0]) == "Literal" and expression[0]["dataType"] == "long"
    return int(expression[0]["value"]) if is_number else None


def _column(time: Expression) -> int | None:
    """The column itself; a date counts as its midnight."""
    said = _unwrapped(time, _CASTS)
    is_plain = is_column(said) and said[0]["dataType"] in ("timestamp", "date")
    return column_of(said) if is_plain else None


def _unwrapped(expression: Expression, wrappers: frozenset[str]) -> Expression:
    while short(expression[0]) in wrappers:
        expression = expression[1:]
    return expression
