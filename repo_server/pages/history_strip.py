"""The verdicts of a dataset as a strip: one bar for each report, the newest at the right.

A verdict is told by where its bar stands and how high it is, and by its colour only besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from catalog.reports import KeptReport
from repo_server.moments import moment

BARS_MAX: Final = 100
_STEP, _BAR, _HEIGHT = 10, 8, 40
_PLACES: Final = {"valid": (0, 20), "error": (14, 12), "invalid": (20, 20)}
"""Top and height: what is valid stands on the line, what is invalid hangs from it."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One report, in pixels from the top left."""

    x: int
    top: int
    height: int
    verdict: str
    said: str
    width: int = _BAR


@dataclass(frozen=True, slots=True)
class HistoryStrip:
    """The picture, and in words what it shows."""

    bars: Sequence[Bar]
    said: str
    width: int
    height: int = _HEIGHT


def history_strip(newest_first: Sequence[KeptReport]) -> HistoryStrip:
    """The last reports, as many as there is room for."""
    shown = newest_first[:BARS_MAX][::-1]
    said = f"{len(shown)} reports, the newest {shown[-1].verdict}" if shown else "no reports"
    return HistoryStrip([*map(_bar, range(len(shown)), shown)], f"Verdicts: {said}", _STEP * len(shown))


def _bar(number: int, report: KeptReport) -> Bar:
    verdict = report.verdict if report.verdict in _PLACES else "error"
    top, height = _PLACES[verdict]
    return Bar(_STEP * number, top, height, verdict, f"{moment(report.ended_at)}: {report.verdict}")
