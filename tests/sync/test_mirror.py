"""Where a mirror goes and when: addresses, kinds, schedules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import MalformedInput, UnsupportedOperation
from opendatafabric.names import DatasetName
from sync.mirror import dataset_address, next_time, push_kind


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("odf+http://other/alice/", "odf+http://other/alice/weather"),
        ("odf+http://other/alice/rain", "odf+http://other/alice/rain"),
        ("file:///mirror/", "file:///mirror/weather"),
        ("kubo+http://127.0.0.1:5001", "kubo+http://127.0.0.1:5001"),
    ],
)
def test_a_target_that_ends_in_a_slash_holds_many_datasets(target: str, address: str) -> None:
    assert dataset_address(target, DatasetName("weather")) == address


@pytest.mark.parametrize("target", ["odf+https://a/", "file:///a/", "/a/", "kubo+http://a:5001", "s3://a-bucket/b/"])
def test_what_can_be_pushed_to_has_a_kind(target: str) -> None:
    assert push_kind(target)


@pytest.mark.parametrize("target", ["http://a/", "ipfs://a", "ftp://a/"])
def test_what_can_only_be_read_has_none(target: str) -> None:
    with pytest.raises(UnsupportedOperation):
        push_kind(target)


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [("* * * * *", 0, 60), ("* * * * *", 59.9, 60), ("17 * * * *", 0, 1_020), ("0 3 * * *", 10_800, 97_200)],
)
def test_a_schedule_strikes_in_utc_after_the_given_time(schedule: str, after: float, expected: float) -> None:
    assert next_time(schedule, after) == expected


@pytest.mark.parametrize("schedule", ["", "often", "* * * *", "61 * * * *", "0 0 30 2 *", "* " * 1_000, "\0"])
def test_what_never_strikes_is_no_schedule(schedule: str) -> None:
    with pytest.raises(MalformedInput):
        next_time(schedule, 0)


@given(st.integers(0, 59), st.integers(0, 23), st.floats(0, 4e9))
def test_a_daily_schedule_strikes_within_a_day_on_the_minute(minute: int, hour: int, after: float) -> None:
    found = next_time(f"{minute} {hour} * * *", after)
    assert after < found <= after + 86_400
    assert found % 86_400 == (hour * 60 + minute) * 60
