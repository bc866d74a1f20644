"""When to try again: exponential back-off with jitter, or what the other side asked for."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from opendatafabric.errors import OdfError

T = TypeVar("T")
TRIES: Final = 5
FIRST_WAIT_S: Final = 0.2
WAIT_S_MAX: Final = 20.0


async def retried(action: Callable[[], Awaitable[T]], *, tries: int = TRIES, first_wait_s: float = FIRST_WAIT_S) -> T:
    """What ``action`` returns, tried again while its error says that this may help.

    Raises:
        OdfError: the first error that is not ``retryable``, or the last one.
    """
    for attempt in range(tries):
        try:
            return await action()
        except OdfError as error:
            if not error.retryable or attempt + 1 == tries:
                raise
            await asyncio.sleep(_wait(error, attempt, first_wait_s))
    raise AssertionError("a loop over at least one try returns or raises")


def _wait(error: OdfError, attempt: int, first_wait_s: float) -> float:
    asked: float | None = getattr(error, "retry_after_s", None)
    if asked is not None:
        return min(asked, WAIT_S_MAX)
    wait_s: float = min(first_wait_s * 2**attempt, WAIT_S_MAX)
    return wait_s * random.uniform(0.5, 1.0)
