"""The strip of verdicts: in the order of time, told by place and words and not by colour alone."""

from __future__ import annotations

import re

from repo_server.pages.history_strip import BARS_MAX, history_strip
from tests.repo_server.pages.test_html import Seen
from tests.repo_server.pages.test_report_pages import kept

REPORTS = [kept("invalid", 300), kept("error", 200), kept("valid", 100)]


def places(page: str) -> list[tuple[int, int, str]]:
    found = re.findall(r'<rect x="(\d+)" y="(\d+)" width="8" height="\d+" class="(\w+)">', page)
    return [(int(x), int(y), verdict) for x, y, verdict in found]


def test_the_newest_report_stands_at_the_right() -> None:
    assert [verdict for _, _, verdict in sorted(places(history_strip(REPORTS)))] == ["valid", "error", "invalid"]


def test_verdicts_stand_at_different_heights() -> None:
    assert len({y for _, y, _ in places(history_strip(REPORTS))}) == 3


def test_every_bar_and_the_whole_are_told_in_words() -> None:
    seen = Seen(history_strip(REPORTS))
    assert "1970-01-01T00:05:00Z: invalid" in seen.texts
    assert dict(seen.attributes)["aria-label"] == "Verdicts: 3 reports, the newest invalid"


def test_no_more_is_shown_than_there_is_room_for() -> None:
    many = [kept("valid", 1_000 - number) for number in range(BARS_MAX + 50)]
    assert len(places(history_strip(many))) == BARS_MAX


def test_a_verdict_that_is_not_known_makes_no_crash() -> None:
    assert places(history_strip([kept("other", 1)])) == [(0, 14, "other")]
