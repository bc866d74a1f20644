"""What Spark made of ``window(…)`` and ``session_window(…)``: their lengths, and the column whose windows they are.

It computes windows in whole microseconds by the last node of a plan below a grouping; queries cannot write such
expressions themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pipeline.epochs.plan_tree import Expression, column_of, is_column, parts_of
from pipeline.epochs.windows import FixedWindows, SessionWindows, Windows
from pipeline.gate import short
from pipeline.window_text import microseconds_in

_WRAPPERS: Final = frozenset({"KnownNullable", "PreciseTimestampConversion"})
_CASTS: Final = _WRAPPERS | {"Cast"}
_MILLISECOND: Final = 1_000


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


def _fixed(remainder: Expression, end: Expression) -> WindowTerms | None:
    """``remainder`` is the time since a start by the slide, ``end`` a start and the size."""
    since, slide = parts_of(remainder)
    time, start = parts_of(since)
    numbers = [_number(each) for each in (parts_of(end)[1], slide, start)]
    if any(each is None or each % _MILLISECOND for each in numbers):
        return WindowTerms(None, _column(time))
    size, every, begin = [each // _MILLISECOND for each in numbers if each is not None]
    return WindowTerms(FixedWindows(size, every, begin), _column(time))


def _session(added: Expression) -> WindowTerms:
    time, gap = parts_of(added)
    said = _unwrapped(gap, _CASTS)
    is_text = short(said[0]) == "Literal" and said[0]["dataType"] == "string"
    length = microseconds_in(said[0]["value"]) if is_text else None
    is_whole = length is not None and not length % _MILLISECOND
    return WindowTerms(SessionWindows(length // _MILLISECOND) if length and is_whole else None, _column(time))


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
