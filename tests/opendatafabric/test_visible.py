"""Text by strangers stays text: nothing in it moves a cursor or ends a line."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.visible import visible, visible_in_line


def test_controls_become_escapes() -> None:
    assert visible_in_line("a\nb\t\x1b[2J\u202e\ud800ü") == "a\\u000ab\\u0009\\u001b[2J\\u202e\\ud800ü"


def test_a_text_of_lines_keeps_its_lines() -> None:
    assert visible("a\n\tb\r") == "a\n\tb\\u000d"


@given(text=st.text())
def test_a_line_stays_one_line_that_can_be_encoded(text: str) -> None:
    shown = visible_in_line(text)
    assert len(shown.splitlines()) <= 1
    assert not [mark for mark in shown if unicodedata.category(mark) in {"Cc", "Cs"}]
    shown.encode()
