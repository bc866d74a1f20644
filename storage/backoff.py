"""When to try again: exponential back-off with jitter, or what the other side asked for."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import Final, TypeVar

from opendatafabric.errors import OdfError, PeerUnavailable

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]
TRIES: Final = 5
FIRST_WAIT_S: Final = 0.2
WAIT_S_MAX: Final = 20.0
"""Longest wait of our own choice."""

ASKED_WAIT_S_MAX: Final = 300.0
"""Longest wait that a peer may ask for: people watch."""


class Busy(PeerUnavailable):
    """The peer asked to come back later; ``retry_after_s`` says when, if it did."""

    code = "peer-busy"

    def __init__(self, message: str, retry_after_s: float | None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


async def retried(
    action: Callable[[], Awaitable[T]],
    *,
    tries: int = TRIES,
    first_wait_s: float = FIRST_WAIT_S,
    sleep: Sleep | None = None,
) -> T:
    """What ``action`` returns, tried again while its error says that this may help; ``sleep`` is asyncio's by default.

    Raises:
        OdfError: the first error that is not ``retryable``, or the last one.
    """
    for attempt in range(tries):
        try:
            return await action()
        except OdfError as error:
            if not error.retryable or attempt + 1 == tries:
                raise
            await wait_after(error, attempt, first_wait_s=first_wait_s, sleep=sleep)
    raise AssertionError("a loop over at least one try returns or raises")


async def wait_after(
    error: OdfError, attempt: int, *, first_wait_s: float = FIRST_WAIT_S, sleep: Sleep | None = None
) -> None:
    """Sleep before the try that follows ``attempt`` (from 0), which ended in ``error``."""
    wait = sleep or asyncio.sleep
    asked: float | None = getattr(error, "retry_after_s", None)
    if asked is not None:
        await wait(min(asked, ASKED_WAIT_S_MAX))
        return
    await wait(jittered_wait_s(attempt, first_wait_s=first_wait_s))


def jittered_wait_s(
    attempt: int, *, first_wait_s: float, wait_s_max: float = WAIT_S_MAX, part: float | None = None
) -> float:
    """Twice as long for each attempt (from 0) up to the most, and of that some part: many must not come at once.

    ``part``, from 0 to 1, says how much of the upper half; a random one by default.
    """
    # Beyond 64 doublings floats would overflow, and everything is at its most anyway.
    most = min(first_wait_s * 2.0 ** min(attempt, 64), wait_s_max)
    return most * (0.5 + 0.5 * (random.random() if part is None else part))


def asked_wait_s(retry_after: str | None, now: float) -> float | None:
    """``Retry-After`` in seconds from ``now`` (since 1970): a number or a date (RFC 9110, 10.2.3); else ``None``."""
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:9])
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - now)
    except (ValueError, OverflowError):
        return None
