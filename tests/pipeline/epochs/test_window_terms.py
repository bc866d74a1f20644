"""Lengths of windows as texts."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pipeline.epochs.window_terms import milliseconds_in

LENGTHS = {
    "30 minutes": 1_800_000,
    "1 hour": 3_600_000,
    " interval 1 Hour 30 MINUTES ": 5_400_000,
    "2 weeks": 1_209_600_000,
    "1 day 1 millisecond": 86_400_001,
    "1 month": None,
    "0 seconds": None,
    "5": None,
    "minutes": None,
    "-5 minutes": None,
    "5 microseconds": None,
    "": None,
}


@pytest.mark.parametrize(("text", "expected"), LENGTHS.items())
def test_a_length_is_a_number_of_milliseconds_or_none(text: str, expected: int | None) -> None:
    assert milliseconds_in(text) == expected
