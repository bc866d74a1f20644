"""The strip of verdicts: in the order of time, told by place and words and not by colour alone."""

from __future__ import annotations

from repo_server.pages.history_strip import BARS_MAX, history_strip
from tests.repo_server.pages.test_report_pages import kept

REPORTS = [kept("invalid", 300), kept("error", 200), kept("valid", 100)]


def test_the_newest_report_stands_at_the_right() -> None:
    bars = sorted(history_strip(REPORTS).bars, key=lambda bar: bar.x)
    assert [bar.verdict for bar in bars] == ["valid", "error", "invalid"]


def test_verdicts_stand_at_different_heights() -> None:
    assert len({bar.top for bar in history_strip(REPORTS).bars}) == 3


def test_every_bar_and_the_whole_are_told_in_words() -> None:
    made = history_strip(REPORTS)
    assert made.bars[-1].said == "1970-01-01T00:05:00Z: invalid"
    assert made.said == "Verdicts: 3 reports, the newest invalid"


def test_no_more_is_shown_than_there_is_room_for() -> None:
    many = [kept("valid", 1_000 - number) for number in range(BARS_MAX + 50)]
    made = history_strip(many)
    assert len(made.bars) == BARS_MAX
    assert made.bars[-1].x + made.bars[-1].width <= made.width


def test_a_verdict_that_is_not_known_makes_no_crash() -> None:
    (bar,) = history_strip([kept("other", 1)]).bars
    assert (bar.top, bar.verdict) == (14, "error")
