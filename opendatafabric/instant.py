"""A point in UTC time with nanoseconds, any year and leap seconds: what the format stores (schema struct Timestamp).

``datetime`` holds none of these three, so the four numbers of the struct are kept as they are. Text is RFC 3339.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from opendatafabric.errors import MalformedInput

_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_SECONDS_PER_DAY: Final = 86_400
_NANOS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """``nanosecond`` reaches 1,999,999,999 in a leap second; ``second_of_day`` is in UTC."""

    year: int
    day_of_year: int
    second_of_day: int
    nanosecond: int = 0

    @classmethod
    def from_datetime(cls, moment: datetime) -> Instant:
        """From an aware datetime (microseconds); ValueError for one that does not know its zone."""
        if moment.tzinfo is None:
            raise ValueError(f"{moment} has no time zone")
        utc = moment.astimezone(UTC)
        return cls(
            utc.year,
            utc.timetuple().tm_yday,
            utc.hour * 3600 + utc.minute * 60 + utc.second,
            utc.microsecond * 1000,
        )

    @classmethod
    def from_rfc3339(cls, text: str) -> Instant:
        """Parse RFC 3339 with any offset; digits beyond the ninth are cut off.

        Raises:
            MalformedInput: no full date, time and offset, or numbers out of range.
        """
        found = _RFC3339.fullmatch(text)
        if found is None:
            raise MalformedInput(f"{text[:100]!r} is not an RFC 3339 time", hint="write 2024-01-31T12:00:00Z")
        year, month, day, hour, minute, second = (int(found[i]) for i in range(1, 7))
        nanosecond = int((found[7] or "0")[:9].ljust(9, "0"))
        offset_hour, offset_minute = int(found[10] or 0), int(found[11] or 0)
        if hour > 23 or minute > 59 or second > 60 or offset_hour > 23 or offset_minute > 59:
            raise MalformedInput(f"{text[:100]!r} has a time out of range")
        if second == 60:
            second, nanosecond = 59, nanosecond + _NANOS
        offset = (offset_hour * 3600 + offset_minute * 60) * (-1 if found[9] == "-" else 1)
        days, second_of_day = divmod(hour * 3600 + minute * 60 + second - offset, _SECONDS_PER_DAY)
        try:
            moved = date(_same_calendar(year), month, day) + timedelta(days=days)
        except ValueError:
            raise MalformedInput(f"{text[:100]!r} is not a date of the calendar") from None
        return cls(year + moved.year - _same_calendar(year), moved.timetuple().tm_yday, second_of_day, nanosecond)

    def to_datetime(self) -> datetime:
        """As an aware datetime, cut to microseconds; a leap second becomes the second before.

        Raises:
            MalformedInput: a year that ``datetime`` does not know.
        """
        try:
            return datetime(self.year, 1, 1, tzinfo=UTC) + timedelta(
                days=self.day_of_year - 1, seconds=self.second_of_day, microseconds=self.nanosecond % _NANOS // 1000
            )
        except (ValueError, OverflowError):
            raise MalformedInput(f"year {self.year} is outside what a datetime holds") from None

    def cut_to_milliseconds(self) -> Instant:
        """The same instant without digits below the millisecond."""
        return Instant(self.year, self.day_of_year, self.second_of_day, self.nanosecond // 1_000_000 * 1_000_000)

    def __str__(self) -> str:
        """RFC 3339 in UTC with 0, 3, 6 or 9 fractional digits, the fewest that fit."""
        month, day = _month_and_day(self.year, self.day_of_year)
        hour, rest = divmod(self.second_of_day, 3600)
        minute, second = divmod(rest, 60)
        leap, nanosecond = divmod(self.nanosecond, _NANOS)
        day_text = f"{_year_text(self.year)}-{month:02}-{day:02}"
        return f"{day_text}T{hour:02}:{minute:02}:{second + leap:02}{_fraction(nanosecond)}Z"


def _same_calendar(year: int) -> int:
    # A year that ``date`` knows, with room on both sides, for one that it may not know: the calendar repeats.
    return 2000 + year % 400


def _month_and_day(year: int, day_of_year: int) -> tuple[int, int]:
    moved = date(_same_calendar(year), 1, 1) + timedelta(days=day_of_year - 1)
    return moved.month, moved.day


def _year_text(year: int) -> str:
    return f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"


def _fraction(nanosecond: int) -> str:
    digits = f"{nanosecond:09}"
    if nanosecond == 0:
        return ""
    if nanosecond % 1_000_000 == 0:
        return f".{digits[:3]}"
    return f".{digits[:6]}" if nanosecond % 1000 == 0 else f".{digits}"
