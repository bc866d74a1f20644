"""How a schedule stands, as JSON values: for the API and for the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from catalog.schedules import Scheduled
from repo_server.logs import redacted


def plain_schedule(scheduled: Scheduled) -> dict[str, Any]:
    """A schedule, its last run and its next; nothing in it is a secret."""
    schedule, state = scheduled.schedule, scheduled.state
    return {
        "cron": schedule.cron,
        "onChange": schedule.on_change,
        "timezone": schedule.timezone,
        "jitterS": schedule.jitter_s,
        "paused": scheduled.paused_at is not None,
        "running": state.is_running,
        "nextRunAt": _time(state.due_at),
        "lastRunAt": _time(state.began_at),
        "lastEndAt": _time(state.ended_at),
        "lastSuccessAt": _time(state.succeeded_at),
        "lastOutcome": None if state.outcome is None else dict(state.outcome),
        "lastError": None if state.error is None else redacted(state.error),
        "failures": state.failures,
    }


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
