"""When a cron expression strikes. The only home of the library that reads them."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from opendatafabric.errors import MalformedInput

_FIELDS: Final = 5
_LENGTH_MAX: Final = 100
"""Characters of an expression; longer ones say nothing that a shorter one could not."""


def next_strike(cron: str, after: float, timezone: str = "UTC") -> float:
    """When ``cron`` (minute, hour, day, month, weekday; in ``timezone``) strikes next after ``after``.

    Times are seconds since 1970. Where a clock is put forward or back, a strike is neither left out nor doubled.

    Raises:
        MalformedInput: no such expression or time zone, or one that never strikes.
    """
    zone = _zone(timezone)
    try:
        # Seconds would be a sixth field.
        if len(cron) > _LENGTH_MAX or len(cron.split()) != _FIELDS:
            raise CronSimError
        return next(CronSim(cron, datetime.fromtimestamp(after, zone))).timestamp()
    except (CronSimError, StopIteration):
        raise MalformedInput(
            f"{cron[:_LENGTH_MAX]!r} is no schedule", expected="minute hour day month weekday", hint="17 * * * *"
        ) from None


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise MalformedInput(
            f"{name[:_LENGTH_MAX]!r} is no time zone that is known here", hint="Europe/Berlin, or UTC"
        ) from None
