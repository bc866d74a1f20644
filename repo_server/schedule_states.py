"""How a schedule stands, as JSON values: for the API and for the command line."""

from __future__ import annotations

from typing import Any

from catalog.schedules import Scheduled
from repo_server.logs import redacted
from repo_server.moments import moment_or_none


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
        "nextRunAt": moment_or_none(state.due_at),
        "lastRunAt": moment_or_none(state.began_at),
        "lastEndAt": moment_or_none(state.ended_at),
        "lastSuccessAt": moment_or_none(state.succeeded_at),
        "lastOutcome": None if state.outcome is None else dict(state.outcome),
        "lastError": None if state.error is None else redacted(state.error),
        "failures": state.failures,
    }
