"""Lengths of windows as texts, and queries of which a record is in too many windows."""

from __future__ import annotations

import pytest

from opendatafabric.errors import InvalidQuery, LimitExceeded
from opendatafabric.limits import WINDOWS_OF_RECORD_MAX
from pipeline.window_text import check_windows, microseconds_in

LENGTHS = {
    "30 minutes": 1_800_000_000,
    "1 hour": 3_600_000_000,
    " interval 1 Hour 30 MINUTES ": 5_400_000_000,
    "2 weeks": 1_209_600_000_000,
    "1 day 1 millisecond": 86_400_001_000,
    "5 microseconds": 5,
    "1 month": None,
    "0 seconds": None,
    "5": None,
    "minutes": None,
    "-5 minutes": None,
    "1.5 seconds": None,
    "": None,
}


@pytest.mark.parametrize(("text", "expected"), LENGTHS.items())
def test_a_length_is_a_number_of_microseconds_or_none(text: str, expected: int | None) -> None:
    assert microseconds_in(text) == expected


PASSING = [
    "select window.end from l group by window(event_time, '1 hour')",
    "select 1 from l group by window(event_time, concat('1', ' hour'))",
    f"select 1 from l group by window(event_time, '{WINDOWS_OF_RECORD_MAX} seconds', '1 second')",
    "select 1 from l group by WINDOW(coalesce(a, b), 3600000000, 60000000, '5 minutes')",
    "select sum(n) over w from l window w as (order by a, b, c)",
    "select 'window(a, b, c)', x.window, session_window(a, '1 second', b) from l -- window(a, b, c)",
]


@pytest.mark.parametrize("sql", PASSING)
def test_what_has_few_windows_passes(sql: str) -> None:
    check_windows(sql)


REFUSED = [
    (f"select 1 from l\n group by window(t, '{WINDOWS_OF_RECORD_MAX + 1} seconds', '1 second')", LimitExceeded),
    ("select 1 from l\n group by `window` (f(a, b), '365 days', '1 microsecond')", LimitExceeded),
    ("select 1 from l\n group by window(t, 31536000000000, 1)", LimitExceeded),
    ("select 1 from l\n group by window(t, '365 days', '0.001 seconds')", InvalidQuery),
    ("select 1 from l\n group by window(t, '365 days', '1 ' 'second')", InvalidQuery),
    ("select 1 from l\n group by window(t, '1 hour', concat('1', ' second'), '1 second'", InvalidQuery),
    ("select 1 from l\n group by window(t, '1 hour', 0)", InvalidQuery),
]


@pytest.mark.parametrize(("sql", "error"), REFUSED)
def test_too_many_and_what_cannot_be_counted_is_refused(sql: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"\(line 2, column 11\)"):
        check_windows(sql)
