"""The verdicts of a dataset as a strip: one bar for each report, the newest at the right.

A verdict is told by where its bar stands and how high it is, and by its colour only besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from catalog.reports import KeptReport
from repo_server.moments import moment
from repo_server.pages.html import Html, element

BARS_MAX: Final = 100
_STEP, _BAR, _HEIGHT = 10, 8, 40
_PLACES: Final = {"valid": (0, 20), "error": (14, 12), "invalid": (20, 20)}
"""Top and height: what is valid stands on the line, what is invalid hangs from it."""


def history_strip(newest_first: Sequence[KeptReport]) -> Html:
    """The last reports, as many as there is room for."""
    shown = newest_first[:BARS_MAX][::-1]
    width = _STEP * len(shown)
    said = f"{len(shown)} reports, the newest {shown[-1].verdict}" if shown else "no reports"
    line = element("rect", x="0", y="20", width=str(width), height="1", class_="line")
    bars = [_bar(number, report) for number, report in enumerate(shown)]
    return element(
        "svg", line, *bars, role="img", aria_label=f"Verdicts: {said}", viewBox=f"0 0 {width} {_HEIGHT}",
        width=str(width), height=str(_HEIGHT), class_="strip",
    )  # fmt: skip


def _bar(number: int, report: KeptReport) -> Html:
    top, height = _PLACES.get(report.verdict, _PLACES["error"])
    return element(
        "rect", element("title", f"{moment(report.ended_at)}: {report.verdict}"), x=str(number * _STEP), y=str(top),
        width=str(_BAR), height=str(height), class_=report.verdict,
    )  # fmt: skip
