"""How a schedule stands, as JSON values: for the API and for the command line."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from catalog.schedules import Scheduled
from repo_server.logs import redacted
from repo_server.moments import moment_or_none


class ScheduleState(TypedDict):
    """When something is done, and how it went."""

    cron: str | None
    onChange: bool
    timezone: str
    jitterS: float
    paused: bool
    running: bool
    nextRunAt: str | None
    lastRunAt: str | None
    lastEndAt: str | None
    lastSuccessAt: str | None
    lastOutcome: dict[str, Any] | None
    lastError: str | None
    failures: int


def plain_schedule(scheduled: Scheduled) -> ScheduleState:
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
