"""Cron expressions strike when they say, in any time zone, also where its clock is put forward or back."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import MalformedInput
from storage.cron import next_strike


def strikes(cron: str, start: str, count: int, zone: str = "UTC") -> list[str]:
    """The next times as UTC texts."""
    after, found = datetime.fromisoformat(start).timestamp(), []
    for _ in range(count):
        after = next_strike(cron, after, zone)
        found.append(f"{datetime.fromtimestamp(after, UTC):%d %H:%M}")
    return found


def test_an_expression_in_a_time_zone_follows_its_clock() -> None:
    assert strikes("0 3 * * *", "2026-01-01T00:00:00Z", 1, "Europe/Berlin") == ["01 02:00"]
    assert strikes("0 3 * * *", "2026-07-01T00:00:00Z", 1, "Europe/Berlin") == ["01 01:00"]


def test_a_time_that_the_clock_leaves_out_is_not_left_out() -> None:
    assert strikes("30 2 * * *", "2026-03-28T12:00:00Z", 2, "Europe/Berlin") == ["29 01:00", "30 00:30"]


def test_a_time_that_comes_twice_strikes_once() -> None:
    assert strikes("30 2 * * *", "2026-10-24T12:00:00Z", 2, "Europe/Berlin") == ["25 00:30", "26 01:30"]


@given(
    cron=st.sampled_from(["*/5 * * * *", "30 2 * * *", "0 1,2,3 * * *", "*/20 1-3 * * *"]),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
    after=st.floats(1.7e9, 1.9e9),
)
def test_strikes_follow_each_other(cron: str, zone: str, after: float) -> None:
    found = [after]
    for _ in range(5):
        found.append(next_strike(cron, found[-1], zone))
    assert all(earlier < later for earlier, later in pairwise(found))
    assert next_strike(cron, (found[1] + after) / 2, zone) == found[1] or found[1] - after < 1e-3


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [("* * * * *", 0, 60), ("* * * * *", 59.9, 60), ("17 * * * *", 0, 1_020), ("0 3 * * *", 10_800, 97_200)],
)
def test_a_schedule_strikes_in_utc_after_the_given_time(schedule: str, after: float, expected: float) -> None:
    assert next_strike(schedule, after) == expected


@given(st.integers(0, 59), st.integers(0, 23), st.floats(0, 4e9))
def test_a_daily_schedule_strikes_within_a_day_on_the_minute(minute: int, hour: int, after: float) -> None:
    found = next_strike(f"{minute} {hour} * * *", after)
    assert after < found <= after + 86_400
    assert found % 86_400 == (hour * 60 + minute) * 60


@pytest.mark.parametrize(
    "cron", ["", "often", "* * * *", "0 0 * * * *", "61 * * * *", "0 0 31 2 *", "* " * 1_000, "\0", "5#2/3 * * * *"]
)
def test_what_is_no_expression_is_refused(cron: str) -> None:
    with pytest.raises(MalformedInput, match="is no schedule"):
        next_strike(cron, 0)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "", "/etc/localtime", "a\0b", "Europe"])
def test_what_is_no_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(MalformedInput, match="no time zone"):
        next_strike("* * * * *", 0, zone)
