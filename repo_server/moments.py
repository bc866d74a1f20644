"""Times since 1970 as they are written everywhere: for the API and for the command line."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(seconds: float) -> str:
    """``2026-01-31T12:00:00Z``."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def moment_or_none(seconds: float | None) -> str | None:
    """The same of a time that may not have come."""
    return None if seconds is None else moment(seconds)
