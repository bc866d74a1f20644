"""Points in time as the format stores and prints them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import MalformedInput
from opendatafabric.instant import Instant

days_of_year = st.integers(1, 365)
instants = st.builds(Instant, st.integers(0, 9999), days_of_year, st.integers(0, 86_399), st.integers(0, 999_999_999))
zones = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2020-01-01T12:00:00Z", Instant(2020, 1, 43_200)),
        ("2020-12-31T23:59:59Z", Instant(2020, 366, 86_399)),
        ("2021-12-31T23:59:59Z", Instant(2021, 365, 86_399)),
        ("2020-01-01t12:00:00z", Instant(2020, 1, 43_200)),
        ("2020-01-01 12:00:00Z", Instant(2020, 1, 43_200)),
        ("2020-01-01T12:00:00+02:00", Instant(2020, 1, 36_000)),
        ("2020-01-01T00:00:00+00:01", Instant(2019, 365, 86_340)),
        ("2020-12-31T23:59:59-23:59", Instant(2021, 1, 86_399 - 60)),
        ("2020-01-01T12:00:00-00:00", Instant(2020, 1, 43_200)),
        ("2020-01-01T12:00:00.5Z", Instant(2020, 1, 43_200, 500_000_000)),
        ("2020-01-01T12:00:00.123456789999Z", Instant(2020, 1, 43_200, 123_456_789)),
        ("2016-12-31T23:59:60Z", Instant(2016, 366, 86_399, 1_000_000_000)),
        ("2016-12-31T23:59:60.25Z", Instant(2016, 366, 86_399, 1_250_000_000)),
        ("0000-02-29T00:00:00Z", Instant(0, 60, 0)),
        ("0000-01-01T00:00:00+01:00", Instant(-1, 365, 82_800)),
        ("9999-12-31T23:59:59-01:00", Instant(10_000, 1, 3_599)),
    ],
)
def test_rfc_3339_is_read(text: str, expected: Instant) -> None:
    assert Instant.from_rfc3339(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2020-01-01",
        "2020-01-01T12:00:00",
        "2020-01-01T12:00Z",
        "2020-01-01T12:00:00.Z",
        "2020-01-01T12:00:00+0200",
        "2020-01-01T12:00:00+24:00",
        "2020-01-01T12:00:00+01:60",
        "2020-13-01T12:00:00Z",
        "2020-00-01T12:00:00Z",
        "2021-02-29T12:00:00Z",
        "2020-01-32T12:00:00Z",
        "2020-01-01T24:00:00Z",
        "2020-01-01T12:60:00Z",
        "2020-01-01T12:00:61Z",
        "20200-01-01T12:00:00Z",
        "2020-01-01T12:00:00Z\n",
        " 2020-01-01T12:00:00Z",
        "2020-01-01\n12:00:00Z",
        "2020-01-01T12:00:00Z\0",
        "２０２０-01-01T12:00:00Z",
        "٢٠٢٠-01-01T12:00:00Z",
        "2020-01-01T12:00:00\u2212" + "01:00",
    ],
    ids=ascii,
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(MalformedInput):
        Instant.from_rfc3339(text)


def test_an_endless_fraction_is_not_repeated_in_the_error() -> None:
    with pytest.raises(MalformedInput) as refused:
        Instant.from_rfc3339(f"2021-02-30T12:00:00.{'9' * 1_000_000}Z")
    assert len(refused.value.message) < 300


@pytest.mark.parametrize(
    ("nanosecond", "text"),
    [(0, ""), (500_000_000, ".500"), (1_000_000, ".001"), (1_000, ".000001"), (1, ".000000001"), (120, ".000000120")],
)
def test_a_fraction_is_printed_with_three_six_or_nine_digits(nanosecond: int, text: str) -> None:
    assert str(Instant(2020, 1, 43_200, nanosecond)) == f"2020-01-01T12:00:00{text}Z"


def test_a_leap_second_is_printed_as_second_sixty() -> None:
    assert str(Instant(2016, 366, 86_399, 1_250_000_000)) == "2016-12-31T23:59:60.250Z"


@pytest.mark.parametrize(("year", "text"), [(0, "0000"), (12, "0012"), (-1, "-0001"), (10_000, "+10000")])
def test_a_year_is_printed_with_four_digits_or_its_sign(year: int, text: str) -> None:
    assert str(Instant(year, 1, 0)) == f"{text}-01-01T00:00:00Z"


@given(instants)
def test_text_gives_the_instant_back(instant: Instant) -> None:
    assert Instant.from_rfc3339(str(instant)) == instant


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_datetime_gives_itself_back(moment: datetime) -> None:
    assert Instant.from_datetime(moment).to_datetime() == moment


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=zones))
def test_an_offset_names_the_same_instant_in_another_way(moment: datetime) -> None:
    read = Instant.from_rfc3339(moment.isoformat())
    assert read == Instant.from_datetime(moment)
    assert read.to_datetime() == moment


@given(instants, instants)
def test_instants_order_as_their_texts_do(one: Instant, other: Instant) -> None:
    if one.nanosecond == other.nanosecond == 0:
        assert (one < other) == (str(one) < str(other))
    assert (one < other) + (one == other) + (one > other) == 1


@given(instants)
def test_cutting_to_milliseconds_leaves_nothing_below(instant: Instant) -> None:
    cut = instant.cut_to_milliseconds()
    assert cut.nanosecond % 1_000_000 == 0
    assert 0 <= instant.nanosecond - cut.nanosecond < 1_000_000


@pytest.mark.parametrize("instant", [Instant(0, 1, 0), Instant(10_000, 1, 0), Instant(-5, 1, 0), Instant(9999, 366, 0)])
def test_what_a_datetime_cannot_hold_is_refused(instant: Instant) -> None:
    with pytest.raises(MalformedInput):
        instant.to_datetime()


def test_a_datetime_without_zone_is_no_instant() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        Instant.from_datetime(datetime(2020, 1, 1))
