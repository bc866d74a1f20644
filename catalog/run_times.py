"""When what is done again and again is due: a pure function of the schedule and of what has been done.

- A run makes up for every strike of the schedule up to the moment it begins: many missed ones are made up once.
- A clock that goes back brings no strike again: what was made up for only grows.
- After a failure the schedule waits, longer each time up to a maximum; the first success goes back to it.
- Jitter shifts all strikes of one subject by the same part of the most that is allowed.
- A schedule may follow changes too, or have no strikes at all: what changes is not known here.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Final

from storage.backoff import jittered_wait_s
from storage.cron import next_strike

FIRST_WAIT_S: Final = 30.0
WAIT_S_MAX: Final = 3_600.0
"""Back-off of what fails: from half a minute to an hour."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Five fields of cron in ``timezone``, each strike later by the same part of ``jitter_s`` for one subject.

    ``on_change`` also runs when something changed; then there may be no strikes.
    """

    cron: str | None
    timezone: str = "UTC"
    jitter_s: float = 0.0
    on_change: bool = False


@dataclass(frozen=True, slots=True)
class Runs:
    """What has been done. ``made_up_until`` is when the last run began, or since when there is a schedule."""

    made_up_until: float
    ended_at: float | None = None
    failures: int = 0
    """Since the last success."""

    def begun(self, now: float) -> Runs:
        """A run begins."""
        return replace(self, made_up_until=max(self.made_up_until, now))

    def ended(self, now: float, *, well: bool) -> Runs:
        """It ended."""
        return replace(self, ended_at=now, failures=0 if well else self.failures + 1)


def due_at(schedule: Schedule, subject: str, runs: Runs) -> float:
    """When the next run is due; long ago when it was missed, never (``math.inf``) without strikes.

    Raises:
        MalformedInput: the schedule is none.
    """
    if runs.failures and runs.ended_at is not None:
        return runs.ended_at + wait_s(subject, runs.failures)
    if schedule.cron is None:
        return math.inf
    later_s = shift_s(schedule, subject)
    return next_strike(schedule.cron, runs.made_up_until - later_s, schedule.timezone) + later_s


def shift_s(schedule: Schedule, subject: str) -> float:
    """By how much the strikes of ``subject`` are later."""
    return schedule.jitter_s * _part(subject)


def wait_s(subject: str, failures: int) -> float:
    """How long to wait after so many failures in a row."""
    part = _part(f"{subject} {failures}")
    return jittered_wait_s(failures - 1, first_wait_s=FIRST_WAIT_S, wait_s_max=WAIT_S_MAX, part=part)


def _part(text: str) -> float:
    """Some number from 0 up to 1, always the same for one text."""
    return int.from_bytes(hashlib.sha3_256(text.encode()).digest()[:6]) / 2**48
