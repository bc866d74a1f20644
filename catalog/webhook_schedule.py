"""What becomes of a webhook after an attempt to tell it something: decided here, without a database, clock or network.

Events are told in their order: the next one waits until this one was taken. Times are seconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from http import HTTPStatus
from typing import Final

from opendatafabric.server_limits import WEBHOOK_RETRY_AFTER_S_MAX
from storage.backoff import jittered_wait_s

FIRST_WAIT_S: Final = 10.0
WAIT_S_MAX: Final = 14_400.0


class WebhookState(StrEnum):
    """Whether it is told."""

    ACTIVE = "active"
    PAUSED = "paused"
    """By its owner, or because it failed for too long."""
    ENDED = "ended"
    """The receiver said so."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one attempt went: the ``status`` of the answer, or without one the ``failure``."""

    at: float
    duration_s: float
    status: int | None = None
    failure: str | None = None
    retry_after_s: float | None = None

    @property
    def taken(self) -> bool:
        return self.status is not None and HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def told(self) -> str:
        """In words."""
        return self.failure or f"it answered {self.status}"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a webhook stands: everything up to the event of number ``cursor`` was told, or was not for it."""

    cursor: int
    due_at: float
    state: WebhookState = WebhookState.ACTIVE
    reason: str | None = None
    failures: int = 0
    failing_since: float | None = None


def after_attempt(
    standing: Standing, event_id: int, attempt: Attempt, *, paused_after_s: float, part: float | None = None
) -> Standing:
    """Where it stands after an attempt to tell it the event; ``part`` of the jitter as in ``jittered_wait_s``."""
    if attempt.taken:
        return Standing(event_id, attempt.at)
    if attempt.status == HTTPStatus.GONE:
        return replace(standing, state=WebhookState.ENDED, reason="its receiver answered 410: it wants no more")
    since = attempt.at if standing.failing_since is None else standing.failing_since
    failed = replace(
        standing,
        failures=standing.failures + 1,
        failing_since=since,
        due_at=attempt.at + attempt.duration_s + _wait_s(standing.failures, attempt, part),
    )
    if attempt.at - since < paused_after_s:
        return failed
    days = paused_after_s / 86_400
    return replace(failed, state=WebhookState.PAUSED, reason=f"it failed for {days:g} days; at last: {attempt.told}")


def _wait_s(failures: int, attempt: Attempt, part: float | None) -> float:
    if attempt.retry_after_s is not None:
        return min(max(attempt.retry_after_s, FIRST_WAIT_S), WEBHOOK_RETRY_AFTER_S_MAX)
    return jittered_wait_s(failures, first_wait_s=FIRST_WAIT_S, wait_s_max=WAIT_S_MAX, part=part)
